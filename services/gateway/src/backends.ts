import type { Client } from '@agent-service/contracts';
import type { PublishedKey } from './published-keys.ts';
import type { Answers } from './waiting/answers.ts';

/** What route handlers call. */
export interface Backends {
  readonly identity: Client<'identity'>;
  readonly credits: Client<'credits'>;
  readonly agents: Client<'agents'>;
  readonly templates: Client<'templates'>;
  /** Only where webhooks are on; without it their routes are not there. */
  readonly webhooks?: Client<'webhooks'>;
  /** Messages on their way to answers. */
  readonly answers: Answers;
  /** The public keys that access tokens are verified with. */
  readonly publishedKeys: () => Promise<PublishedKey[]>;
}
