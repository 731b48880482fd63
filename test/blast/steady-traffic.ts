import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { LoadSample } from '@agent-service/testkit';

/** The outcomes of the steady tenant's messages. */
export interface SteadyResult {
  readonly samples: readonly LoadSample[];
  /** Ids of the messages that were accepted. */
  readonly messageIds: readonly string[];
}

export interface SteadyTraffic {
  /** Sends no more, and resolves when every message that was sent was accepted or refused. */
  stop(): Promise<SteadyResult>;
}

export interface SteadyOptions {
  readonly url: string;
  readonly agentId: string;
  readonly key: string;
  readonly perSecond: number;
}

/** Messages at a fixed rate from a thread of their own, so that a busy test does not count as a slow service. */
export function startSteadyTraffic(options: SteadyOptions): SteadyTraffic {
  const worker = new Worker(fileURLToPath(new URL('./steady-sender.ts', import.meta.url)), { workerData: options });
  const result = new Promise<SteadyResult>((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  return {
    async stop() {
      worker.postMessage('stop');
      return await result;
    },
  };
}
