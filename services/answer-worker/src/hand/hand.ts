import type { AttemptKey } from '../answers/answers-api.ts';
import { Interrupted, type Interruption } from './interruption.ts';

const longestTimerMs = 2 ** 31 - 1;

/** One answer that this process is at. */
export interface Held {
  readonly key: AttemptKey;
  /** Aborted, with an `Interrupted`, when the work is to end. */
  readonly signal: AbortSignal;
  readonly interruption: Interruption | undefined;
  /** The first reason counts. */
  interrupt(why: Interruption): void;
}

/** All answers that this process is at. */
export interface Hand {
  readonly size: number;
  take(key: AttemptKey, deadlineMs: number): Held;
  drop(held: Held): void;
  attempts(): AttemptKey[];
  /** Nothing happens where this attempt is not in hand (any more). */
  interrupt(id: string, attempt: number, why: Interruption): void;
}

export function createHand(now: () => number): Hand {
  const answers = new Map<string, { held: Held; timer: NodeJS.Timeout }>();
  return {
    get size() {
      return answers.size;
    },
    take(key, deadlineMs) {
      const held = holding(key);
      const older = answers.get(key.answer.answerId);
      // This process is itself at an attempt that was superseded by taking this one.
      older?.held.interrupt('lost');
      clearTimeout(older?.timer);
      const leftMs = Math.min(longestTimerMs, Math.max(0, deadlineMs - now()));
      answers.set(key.answer.answerId, { held, timer: setTimeout(() => held.interrupt('deadline'), leftMs) });
      return held;
    },
    drop(held) {
      const { answerId } = held.key.answer;
      const entry = answers.get(answerId);
      if (entry?.held !== held) return;
      clearTimeout(entry.timer);
      answers.delete(answerId);
    },
    attempts: () => Array.from(answers.values(), ({ held }) => held.key),
    interrupt(id, attempt, why) {
      const held = answers.get(id)?.held;
      if (held?.key.attempt === attempt) held.interrupt(why);
    },
  };
}

function holding(key: AttemptKey): Held {
  const abort = new AbortController();
  let interruption: Interruption | undefined;
  return {
    key,
    signal: abort.signal,
    get interruption() {
      return interruption;
    },
    interrupt(why) {
      if (interruption !== undefined) return;
      interruption = why;
      abort.abort(new Interrupted(why));
    },
  };
}
