import type { ProcessContext } from '@agent-service/runtime';

/** Work that no call waits for. A sweep repairs its failures. */
export interface Background {
  run(name: string, work: () => Promise<unknown>): void;
}

/** The process stops after the work that has begun. */
export function createBackground(process: ProcessContext): Background {
  const underWay = new Set<Promise<unknown>>();
  process.onStop('work in the background', async () => {
    while (underWay.size > 0) await Promise.all(underWay);
  });
  return {
    run(name, work) {
      const running = work()
        .catch((cause: unknown) => process.logger.warn({ event: 'background_failed', work: name, err: cause }))
        .finally(() => underWay.delete(running));
      underWay.add(running);
    },
  };
}
