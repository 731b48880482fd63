import { ServiceError } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';
import type { JobWorker } from './worker.ts';

const checkEveryMs = 500;

interface PauseOptions {
  readonly workers: readonly JobWorker[];
  /** Why every job would fail in this process; undefined while it would not. */
  readonly findFault: () => unknown;
  /** Runs between the checks of a paused process, which makes no other calls. Never rejects. */
  readonly whilePaused?: () => Promise<void>;
}

/** Lets the workers take no jobs while every job would fail in this process. The jobs go to processes without the fault, or wait. */
export async function pauseOnFault(
  { logger, stopping }: Pick<ProcessContext, 'logger' | 'stopping'>,
  { workers, findFault, whilePaused }: PauseOptions,
): Promise<void> {
  let isPaused = false;
  do {
    const fault = findFault();
    if ((fault !== undefined) !== isPaused) {
      isPaused = fault !== undefined;
      for (const worker of workers) worker[isPaused ? 'pause' : 'resume']();
      logger.warn({ event: isPaused ? 'jobs_paused' : 'jobs_resumed', err: fault });
    }
    if (isPaused) await whilePaused?.();
  } while (await sleep(checkEveryMs, stopping));
}

/** Finds that no replica of a service answers, at two checks in a row: a connection that was lost a moment ago is opened again at once. */
export function createReachabilityCheck(name: string, client: { isReachable(): boolean }): () => ServiceError | undefined {
  let wasReachable = true;
  return () => {
    const isReachable = client.isReachable();
    const isAway = !isReachable && !wasReachable;
    wasReachable = isReachable;
    return isAway ? new ServiceError('unavailable', { message: `no replica of ${name} answers` }) : undefined;
  };
}
