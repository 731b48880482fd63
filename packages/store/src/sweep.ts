import { setTimeout as pause } from 'node:timers/promises';
import type { ProcessContext } from '@agent-service/runtime';

/** Removes what has outlived its time, in bounded steps, until the process stops. A step answers how much it did. */
export function startSweep(process: ProcessContext, name: string, everyMs: number, step: () => Promise<number>): void {
  async function run(): Promise<void> {
    while (!process.stopping.aborted) {
      const done = await step().catch((cause: unknown) => {
        process.logger.warn({ event: 'sweep_failed', sweep: name, err: cause });
        return 0;
      });
      // An aborted pause is the process stopping.
      if (done === 0) await pause(everyMs, undefined, { signal: process.stopping }).catch(() => undefined);
    }
  }
  const running = run();
  process.onStop(`sweep ${name}`, () => running);
}
