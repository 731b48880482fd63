import type { Logger } from '@agent-service/runtime';
import type { Cursors, Relay, Store } from '@agent-service/store';

/** Dependencies of every module of this service. */
export interface ServiceDeps {
  readonly store: Store;
  readonly logger: Logger;
  readonly cursors: Cursors;
  readonly auditRelay: Relay;
  /** Undefined where webhooks are off: then no events are recorded. */
  readonly eventRelay: Relay | undefined;
  readonly now: () => number;
}
