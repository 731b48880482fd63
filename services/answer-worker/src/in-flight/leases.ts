import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';
import type { AnswersApi, AttemptKey } from '../answers/answers-api.ts';
import type { Meters } from '../meters.ts';
import type { InFlightAnswers } from './in-flight-answers.ts';

const retryMs = 1_000;
const chunkSize = 1_000;

interface LeaseDeps {
  readonly inFlight: InFlightAnswers;
  readonly answers: AnswersApi;
  readonly meters: Meters;
}

/**
 * Renews the leases of all answers in flight, with one timer. An answer whose lease cannot be renewed goes on: agents decides whether its
 * result is accepted. Stops after the parts of the process that work on answers.
 */
export function startLeases(process: ProcessContext, { inFlight, answers, meters }: LeaseDeps, everyMs: number): void {
  const stop = new AbortController();
  let isFailing = false;

  async function renew(chunk: AttemptKey[]): Promise<void> {
    for (const { answer, attempt } of await answers.renew(chunk)) inFlight.interrupt(answer.answerId, attempt, 'lost');
  }

  async function renewAll(): Promise<void> {
    const outcomes = await Promise.allSettled(chunksOf(inFlight.attempts()).map(renew));
    const failure = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failure) meters.renewalsFailed.inc();
    if (failure && !isFailing) process.logger.warn({ event: 'leases_not_renewed', in_hand: inFlight.size, err: failure.reason });
    if (!failure && isFailing) process.logger.info({ event: 'leases_renewed_again', in_hand: inFlight.size });
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
