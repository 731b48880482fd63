import type { ProcessContext } from '@agent-service/runtime';
import { sleep, timerMs } from '@agent-service/work';
import type { AnswersApi, AttemptKey } from './answers-api.ts';
import type { Meters } from './meters.ts';

/**
 * Why an answer's work ends early: agents has ended the answer (`unwanted`), another attempt has its lease (`lost`), its deadline has
 * passed, or this process stops.
 */
export type Interruption = 'unwanted' | 'lost' | 'deadline' | 'stopping';

/** An answer that this process works on. */
export interface InFlightAnswer {
  readonly key: AttemptKey;
  /** Aborted when the work is to end. */
  readonly signal: AbortSignal;
  readonly interruption: Interruption | undefined;
  /** Only the first reason has an effect. */
  interrupt(why: Interruption): void;
}

/** All answers that this process works on. */
export interface InFlightAnswers {
  readonly size: number;
  add(key: AttemptKey, deadlineMs: number): InFlightAnswer;
  remove(inFlight: InFlightAnswer): void;
  attempts(): AttemptKey[];
  /** Has no effect where this process does not work on the attempt. */
  interrupt(id: string, attempt: number, why: Interruption): void;
}

export function createInFlightAnswers(now: () => number): InFlightAnswers {
  const answers = new Map<string, { inFlight: InFlightAnswer; timer: NodeJS.Timeout }>();
  return {
    get size() {
      return answers.size;
    },
    add(key, deadlineMs) {
      const inFlight = createInFlightAnswer(key);
      const older = answers.get(key.answer.answerId);
      // The new attempt supersedes one that this process still works on.
      older?.inFlight.interrupt('lost');
      clearTimeout(older?.timer);
      const leftMs = timerMs(deadlineMs - now());
      answers.set(key.answer.answerId, { inFlight, timer: setTimeout(() => inFlight.interrupt('deadline'), leftMs) });
      return inFlight;
    },
    remove(inFlight) {
      const { answerId } = inFlight.key.answer;
      const entry = answers.get(answerId);
      if (entry?.inFlight !== inFlight) return;
      clearTimeout(entry.timer);
      answers.delete(answerId);
    },
    attempts: () => Array.from(answers.values(), ({ inFlight }) => inFlight.key),
    interrupt(id, attempt, why) {
      const inFlight = answers.get(id)?.inFlight;
      if (inFlight?.key.attempt === attempt) inFlight.interrupt(why);
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
      abort.abort(new Error(`the answer was interrupted: ${why}`));
    },
  };
}

const retryMs = 1_000;
const chunkSize = 1_000;

interface LeaseDeps {
  readonly inFlightAnswers: InFlightAnswers;
  readonly answers: AnswersApi;
  readonly meters: Meters;
}

/**
 * Renews the leases of all answers in flight with one timer. An answer continues while its lease cannot be renewed, and agents decides
 * whether to accept its result. Renewals stop after all work on answers.
 */
export function startLeases(process: ProcessContext, { inFlightAnswers, answers, meters }: LeaseDeps, everyMs: number): void {
  const stop = new AbortController();
  let isFailing = false;

  async function renew(chunk: AttemptKey[]): Promise<void> {
    for (const { answer, attempt } of await answers.renew(chunk)) inFlightAnswers.interrupt(answer.answerId, attempt, 'lost');
  }

  async function renewAll(): Promise<void> {
    const outcomes = await Promise.allSettled(chunksOf(inFlightAnswers.attempts()).map(renew));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure) meters.renewalsFailed.inc();
    if (failure && !isFailing) process.logger.warn({ event: 'leases_not_renewed', in_flight: inFlightAnswers.size, err: failure.reason });
    if (!failure && isFailing) process.logger.info({ event: 'leases_renewed_again', in_flight: inFlightAnswers.size });
    isFailing = failure !== undefined;
  }

  async function run(): Promise<void> {
    while (await sleep(isFailing ? Math.min(retryMs, everyMs) : everyMs, stop.signal)) await renewAll();
  }

  const running = run();
  process.onStop('leases', () => {
    stop.abort();
    return running;
  });
}

function chunksOf(keys: AttemptKey[]): AttemptKey[][] {
  const count = Math.ceil(keys.length / chunkSize);
  return Array.from({ length: count }, (_, index) => keys.slice(index * chunkSize, (index + 1) * chunkSize));
}
