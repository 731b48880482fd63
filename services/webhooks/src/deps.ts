import type { Logger } from '@agent-service/runtime';
import type { Cipher, Cursors, Relay, Store } from '@agent-service/store';
import type { Dispatch } from './dispatch.ts';
import type { Months } from './store/months.ts';

/** Dependencies of the methods of this service. */
export interface WebhooksDeps {
  readonly store: Store;
  readonly logger: Logger;
  readonly cipher: Cipher;
  readonly cursors: Cursors;
  readonly auditRelay: Relay;
  readonly months: Months;
  readonly dispatch: Dispatch;
  /** The reason why requests may not be sent to a URL; undefined if they may. */
  readonly refusalOfUrl: (url: string) => Promise<string | undefined>;
  readonly now: () => number;
}
