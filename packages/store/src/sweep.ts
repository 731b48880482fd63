import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';

/**
 * Repeats a bounded step until the process stops. A step returns how many items it processed; after 0 there is a pause, which doubles up to
 * `idleMs` while there is nothing to process.
 */
export function startSweep(process: ProcessContext, name: string, everyMs: number, step: () => Promise<number>, idleMs = everyMs): void {
  async function run(): Promise<void> {
    let pauseMs = everyMs;
    while (!process.stopping.aborted) {
      const processed = await step().catch((cause: unknown) => {
        process.logger.warn({ event: 'sweep_failed', sweep: name, err: cause });
        return 0;
      });
      if (processed > 0) {
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
