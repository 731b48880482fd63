import { setTimeout as pause } from 'node:timers/promises';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import type { AnswerJob, RedisConfig } from '../src/index.ts';

/** A process like a service's, on a free port, without logs. */
export const testProcess = (): Promise<RunningProcess> =>
  createProcess('test', { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const, async () => undefined);

/** For tests of anything but the limit: on a loaded machine a command may take longer than half a second. */
export const patient = { commandLimitMs: 20_000 };

export const auto = (url: string): RedisConfig => ({ REDIS_URL: url, REDIS_MODE: 'auto' });

export const answerJob = (answerId: string, dispatch = 1): AnswerJob => ({
  organizationId: 'org_test',
  environment: 'live',
  answerId,
  dispatch,
});

/** Repeats the work until it succeeds; after the limit it throws the last failure. */
export async function eventually<T>(work: () => Promise<T>, limitMs = 20_000): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    try {
      return await work();
    } catch (cause) {
      if (performance.now() > end) throw cause;
      await pause(25);
    }
  }
}

/** Collects unhandled rejections, of which there must be none. */
export function unhandledRejections(): { readonly rejections: unknown[]; stop(): void } {
  const rejections: unknown[] = [];
  const listener = (cause: unknown) => void rejections.push(cause);
  process.on('unhandledRejection', listener);
  return { rejections, stop: () => void process.off('unhandledRejection', listener) };
}
