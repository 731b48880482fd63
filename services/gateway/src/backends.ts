import type { Client } from '@agent-service/contracts';
import type { PublishedKey } from './published-keys.ts';

/** What route handlers call. */
export interface Backends {
  readonly identity: Client<'identity'>;
  readonly credits: Client<'credits'>;
  /** The public keys that access tokens are verified with. */
  readonly publishedKeys: () => Promise<PublishedKey[]>;
}
