import { setTimeout as pause } from 'node:timers/promises';
import { reasonOf } from '@agent-service/runtime/failures';

/** How one request of a load went. */
export interface LoadSample {
  /** Since the load began. */
  readonly beganMs: number;
  readonly durationMs: number;
  /** `undefined` where it succeeded. */
  readonly failure: string | undefined;
}

export interface SteadyLoad {
  readonly samples: readonly LoadSample[];
  /** Sends no more; resolves when every request that was sent has ended. */
  stop(): Promise<readonly LoadSample[]>;
}

/** Sends requests at a fixed rate, whether or not earlier ones have been answered. A request that rejects has failed. */
export function steadyLoad(perSecond: number, send: (index: number) => Promise<void>): SteadyLoad {
  const samples: LoadSample[] = [];
  const open = new Set<Promise<void>>();
  const stopping = new AbortController();
  const loadBeganAt = performance.now();

  async function sendOne(index: number): Promise<void> {
    const beganAt = performance.now();
    const failure = await send(index).then(() => undefined, reasonOf);
    samples.push({ beganMs: beganAt - loadBeganAt, durationMs: performance.now() - beganAt, failure });
  }

  async function run(): Promise<void> {
    for (let index = 0; !stopping.signal.aborted; index += 1) {
      const sent = sendOne(index).finally(() => open.delete(sent));
      open.add(sent);
      const waitMs = loadBeganAt + ((index + 1) * 1_000) / perSecond - performance.now();
      if (waitMs > 0) await pause(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    samples,
    async stop() {
      stopping.abort();
      await running;
      await Promise.all(open);
      return samples;
    },
  };
}

/** The value below which this share (0 to 1) of the values lies. */
function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** Figures of a load for expectations and reports. */
export function summarize(samples: readonly LoadSample[]) {
  const durations = samples.map(({ durationMs }) => durationMs);
  const failures = samples.flatMap(({ failure }) => failure ?? []);
  return {
    sent: samples.length,
    failures,
    p50: percentile(durations, 0.5),
    p99: percentile(durations, 0.99),
    max: percentile(durations, 1),
  };
}
