import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';

/**
 * Repeats a bounded step until the process stops. A step returns how many items it processed; after 0 there is a pause, which doubles up to
 * `idleMs` while there is nothing to process.
 */
export function startSweep(
  process: Pick<ProcessContext, 'logger' | 'stopping' | 'onStop'>,
  name: string,
  everyMs: number,
  step: () => Promise<number>,
  idleMs = everyMs,
): void {
  let failures = 0;

  /** Logs the failures 1, 2, 4, 8 and so on of an outage: each sweep of each replica fails every second while the database is away. */
  function noteFailure(cause: unknown): void {
    failures += 1;
    if (Number.isInteger(Math.log2(failures))) process.logger.warn({ event: 'sweep_failed', sweep: name, failures, err: cause });
  }

  async function runStep(): Promise<number> {
    try {
      const processed = await step();
      if (failures > 1) process.logger.info({ event: 'sweep_recovered', sweep: name, failures });
      failures = 0;
      return processed;
    } catch (cause) {
      noteFailure(cause);
      return 0;
    }
  }

  async function run(): Promise<void> {
    let pauseMs = everyMs;
    while (!process.stopping.aborted) {
      if ((await runStep()) > 0) {
        pauseMs = everyMs;
        continue;
      }
      await sleep(pauseMs, process.stopping);
      pauseMs = Math.min(2 * pauseMs, idleMs);
    }
  }
  const running = run();
  process.onStop(`sweep ${name}`, () => running);
}
