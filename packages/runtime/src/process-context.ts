import type { Clock } from './clock.ts';
import type { Health } from './health.ts';
import type { Logger } from './log.ts';
import type { Metrics } from './metrics.ts';

/** What a service gets from its process, and where it leaves what must be stopped. */
export interface ProcessContext {
  readonly name: string;
  readonly logger: Logger;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Aborted when the process begins to stop; for loops that wait. */
  readonly stopping: AbortSignal;
  /** Parts are stopped in reverse order of this call, each within its limit. */
  onStop(part: string, stop: () => Promise<unknown>, limitMs?: number): void;
}
