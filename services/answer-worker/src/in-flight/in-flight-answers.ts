import type { AttemptKey } from '../answers/answers-api.ts';

/**
 * Why an answer's work ends early: agents has ended the answer (`unwanted`), another attempt has its lease (`lost`), its deadline has
 * passed, or this process stops.
 */
export type Interruption = 'unwanted' | 'lost' | 'deadline' | 'stopping';

/** The reason of the signal that ends the work. */
class Interrupted extends Error {
  override name = 'Interrupted';
  readonly why: Interruption;

  constructor(why: Interruption) {
    super(`the answer was interrupted: ${why}`);
    this.why = why;
  }
}

/** An answer that this process works on. */
export interface InFlightAnswer {
  readonly key: AttemptKey;
  /** Aborted, with an `Interrupted`, when the work is to end. */
  readonly signal: AbortSignal;
  readonly interruption: Interruption | undefined;
  /** The first reason counts. */
  interrupt(why: Interruption): void;
}

/** All answers that this process works on. */
export interface InFlightAnswers {
  readonly size: number;
  add(key: AttemptKey, deadlineMs: number): InFlightAnswer;
  remove(answer: InFlightAnswer): void;
  attempts(): AttemptKey[];
  /** Has no effect where this process does not work on the attempt. */
  interrupt(id: string, attempt: number, why: Interruption): void;
}

const maxTimerMs = 2 ** 31 - 1;

export function createInFlightAnswers(now: () => number): InFlightAnswers {
  const answers = new Map<string, { answer: InFlightAnswer; timer: NodeJS.Timeout }>();
  return {
    get size() {
      return answers.size;
    },
    add(key, deadlineMs) {
      const answer = createInFlightAnswer(key);
      const older = answers.get(key.answer.answerId);
      // This process also works on the attempt that the new one supersedes.
      older?.answer.interrupt('lost');
      clearTimeout(older?.timer);
      const leftMs = Math.min(maxTimerMs, Math.max(0, deadlineMs - now()));
      answers.set(key.answer.answerId, { answer, timer: setTimeout(() => answer.interrupt('deadline'), leftMs) });
      return answer;
    },
    remove(answer) {
      const { answerId } = answer.key.answer;
      const entry = answers.get(answerId);
      if (entry?.answer !== answer) return;
      clearTimeout(entry.timer);
      answers.delete(answerId);
    },
    attempts: () => Array.from(answers.values(), ({ answer }) => answer.key),
    interrupt(id, attempt, why) {
      const answer = answers.get(id)?.answer;
      if (answer?.key.attempt === attempt) answer.interrupt(why);
    },
  };
}

function createInFlightAnswer(key: AttemptKey): InFlightAnswer {
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
