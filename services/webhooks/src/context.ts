import type { Logger } from '@agent-service/runtime';
import type { Cipher, Cursors, Relay, Store } from '@agent-service/store';
import type { Lines } from './lines/lines.ts';
import type { Months } from './store/months.ts';

/** What the methods of this service work with. */
export interface WebhooksContext {
  readonly store: Store;
  readonly logger: Logger;
  readonly cipher: Cipher;
  readonly cursors: Cursors;
  readonly auditRelay: Relay;
  readonly months: Months;
  readonly lines: Lines;
  /** Why requests may not be sent to a URL; undefined when they may. */
  readonly refusalOfUrl: (url: string) => Promise<string | undefined>;
  readonly now: () => number;
}
