import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';

/** Repeats a bounded step until the process stops. A step returns how many items it processed; after 0 there is a pause. */
export function startSweep(process: ProcessContext, name: string, everyMs: number, step: () => Promise<number>): void {
  async function run(): Promise<void> {
    while (!process.stopping.aborted) {
      const processed = await step().catch((cause: unknown) => {
        process.logger.warn({ event: 'sweep_failed', sweep: name, err: cause });
        return 0;
      });
      if (processed === 0) await sleep(everyMs, process.stopping);
    }
  }
  const running = run();
  process.onStop(`sweep ${name}`, () => running);
}
