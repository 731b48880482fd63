import type { ProcessContext } from '@agent-service/runtime';
import type { AnswersApi, AttemptKey } from '../answers/answers-api.ts';
import type { Meters } from '../meters.ts';
import type { Hand } from './hand.ts';

const againMs = 1_000;
const chunkSize = 1_000;

export interface Leased {
  readonly hand: Hand;
  readonly answers: AnswersApi;
  readonly meters: Meters;
}

/**
 * Keeps the leases of everything in hand, with one timer for all. Work goes on where a lease can not be kept: whether its
 * result is taken is for agents to say. Stops with the process, after those that hold answers.
 */
export function startLeases(process: ProcessContext, { hand, answers, meters }: Leased, everyMs: number): void {
  const stopped = Promise.withResolvers<undefined>();
  let failing = false;

  async function renew(chunk: AttemptKey[]): Promise<void> {
    for (const { answer, attempt } of await answers.renew(chunk)) hand.interrupt(answer.answerId, attempt, 'lost');
  }

  /** Whether all leases were kept or known as lost. */
  async function round(): Promise<boolean> {
    const outcomes = await Promise.allSettled(chunksOf(hand.attempts()).map(renew));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure) meters.renewalsFailed.inc();
    if (failure && !failing) process.logger.warn({ event: 'leases_not_renewed', in_hand: hand.size, err: failure.reason });
    if (!failure && failing) process.logger.info({ event: 'leases_renewed_again', in_hand: hand.size });
    failing = failure !== undefined;
    return !failing;
  }

  async function run(): Promise<void> {
    for (let pauseMs = everyMs; await pauseUnlessStopped(pauseMs, stopped.promise); ) {
      pauseMs = (await round()) ? everyMs : Math.min(againMs, everyMs);
    }
  }

  const running = run();
  process.onStop('leases', () => {
    stopped.resolve(undefined);
    return running;
  });
}

function chunksOf(keys: AttemptKey[]): AttemptKey[][] {
  const count = Math.ceil(keys.length / chunkSize);
  return Array.from({ length: count }, (_, index) => keys.slice(index * chunkSize, (index + 1) * chunkSize));
}

async function pauseUnlessStopped(ms: number, stopped: Promise<undefined>): Promise<boolean> {
  const paused = Promise.withResolvers<true>();
  const timer = setTimeout(() => paused.resolve(true), ms);
  const goesOn = await Promise.race([paused.promise, stopped]);
  clearTimeout(timer);
  return goesOn === true;
}
