import type { FairLimiter } from '@agent-service/contracts';
import type { Cipher, Cursors, Relay, Store } from '@agent-service/store';
import type { AuditKeys } from './domain/audit-chain.ts';
import type { KeyedHash } from './domain/secrets.ts';
import type { Passwords } from './passwords.ts';
import type { IdTokens } from './portal/id-tokens.ts';
import type { CredentialUses } from './store/credential-uses.ts';
import type { FormerHashes } from './store/former-hashes.ts';
import type { UserEvents } from './store/users.ts';
import type { SigningKeys } from './tokens/signing-keys.ts';

/** Dependencies of the methods of this service. */
export interface IdentityDeps {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly keyedHash: KeyedHash;
  readonly signingKeys: SigningKeys;
  /** Waits until no gateway accepts a credential that was revoked so long ago. */
  readonly waitForRevocation: (revokedForMs: number) => Promise<void>;
  readonly auditRelay: Relay;
  readonly auditKeys: AuditKeys;
  readonly events: UserEvents;
  /** Seals secrets in outcomes that are stored under an Idempotency-Key. */
  readonly cipher: Cipher;
  readonly uses: CredentialUses;
  readonly formerHashes: FormerHashes;
  readonly tokenTtlSeconds: number;
  readonly tokenLimiter: FairLimiter;
  readonly passwords: Passwords;
  /** Verifies tokens of the OpenID Connect provider whose accounts may sign in; undefined without one. */
  readonly idTokens: IdTokens | undefined;
  /** The lifetime of the portal's sessions: since their last use, and since they were opened. */
  readonly sessions: { readonly idleSeconds: number; readonly maxSeconds: number };
}
