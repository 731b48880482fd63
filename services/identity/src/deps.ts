import type { Cipher, Cursors, Relay, Store } from '@agent-service/store';
import type { AuditKeys } from './domain/audit-chain.ts';
import type { KeyedHash } from './domain/secrets.ts';
import type { OrganizationLimiter } from './rpc/organization-limiter.ts';
import type { CredentialUses } from './store/credential-uses.ts';
import type { UserEvents } from './store/users.ts';
import type { SigningKeys } from './tokens/signing-keys.ts';

/** Dependencies of the methods of this service. */
export interface IdentityDeps {
  readonly store: Store;
  readonly cursors: Cursors;
  readonly keyedHash: KeyedHash;
  readonly signingKeys: SigningKeys;
  readonly auditRelay: Relay;
  readonly auditKeys: AuditKeys;
  readonly events: UserEvents;
  /** Seals secrets in outcomes that are stored under an Idempotency-Key. */
  readonly cipher: Cipher;
  readonly uses: CredentialUses;
  readonly tokenTtlSeconds: number;
  readonly tokenLimiter: OrganizationLimiter;
}
