import type { Logger } from '@agent-service/runtime';
import type { Cursors, Relay, Store } from '@agent-service/store';

/** Dependencies of every module of this service. */
export interface ServiceDeps {
  readonly store: Store;
  readonly logger: Logger;
  readonly cursors: Cursors;
  readonly auditRelay: Relay;
  /** Undefined where webhooks are off. */
  readonly eventRelay: Relay | undefined;
  /** True where events are recorded for webhooks. */
  readonly events: boolean;
  readonly now: () => number;
}
