import { hkdfSync } from 'node:crypto';
import { createFairLimiter, serve } from '@agent-service/contracts';
import { ConfigurationError, type ProcessContext } from '@agent-service/runtime';
import {
  createCursors,
  openCipher,
  openEventRelay,
  openStore,
  startRelay,
  startSweep,
  sweepIdempotency,
  waitForDatabase,
} from '@agent-service/store';
import type { IdentityConfig } from './config.ts';
import type { IdentityDeps } from './deps.ts';
import type { AuditKeys } from './domain/audit-chain.ts';
import { createKeyedHash } from './domain/secrets.ts';
import { implementation } from './implementation.ts';
import { createPasswords } from './passwords.ts';
import { createIdTokens } from './portal/id-tokens.ts';
import { portalEntities } from './portal/store/entities.ts';
import { removeEnded } from './portal/store/sessions.ts';
import { sealedTwoFactorSecrets } from './portal/store/two-factors.ts';
import { prepareSchema, schema } from './prepare-schema.ts';
import { checkRecord } from './rpc/audit-log.ts';
import { createRevocationWait } from './rpc/revocation.ts';
import { type AuditRecord, appendAudit, signOldChains } from './store/audit-append.ts';
import { isAppendOnly, isSignedWithOtherKeys } from './store/audit-verify.ts';
import { createCredentialUses } from './store/credential-uses.ts';
import { sealedOutcomes } from './store/credentials.ts';
import { entities } from './store/entities.ts';
import { createFormerHashes } from './store/former-hashes.ts';
import { createUserEvents } from './store/users.ts';
import { openSigningKeys, sealedPrivateKeys } from './tokens/signing-keys.ts';

const sweepEveryMs = 60_000;
const usesEveryMs = 5_000;
/** A token takes about 3 ms. Two at once leave threads and connections to authentication. */
const tokenLimits = { permits: 2, maxWaiting: 100 };
/** A password takes about 40 ms of one core: one at once, on a thread of its own, leaves the others to authentication. */
const passwordLimits = { permits: 1, maxWaiting: 20 };

/** Composes the service; resolves to its gRPC port. `pause` is that of `createRevocationWait`. */
export async function start(process: ProcessContext, config: IdentityConfig, pause?: (ms: number) => Promise<unknown>): Promise<number> {
  await waitForDatabase(process, config.DATABASE_URL);
  await prepareSchema(config);
  const store = await openStore(process, config, { schema, entities: [...entities, ...portalEntities] });
  const auditKeys = auditKeysOf(config);
  await signOldChains(store, auditKeys);
  if (await isSignedWithOtherKeys(store.sql, auditKeys)) throw otherAuditKeys(config);
  if (!(await isAppendOnly(store.sql))) process.logger.warn({ event: 'audit_log_not_separated', setting: 'DATABASE_OWNER_URL' });
  const cipher = await openCipher(process, store, config, [sealedPrivateKeys, sealedOutcomes, sealedTwoFactorSecrets]);
  const signingKeys = await openSigningKeys(process, store, cipher, {
    issuer: config.TOKEN_ISSUER,
    rotateAfterDays: config.SIGNING_KEY_DAYS,
    publishedAheadSeconds: config.SIGNING_KEY_AHEAD_SECONDS,
  });
  const auditRelay = startRelay<AuditRecord>(process, store, {
    topic: 'audit',
    deliver: (messages) =>
      appendAudit(
        store,
        auditKeys,
        messages.map(({ payload }) => checkRecord(payload)),
      ),
  });
  const uses = createCredentialUses(store);
  startSweep(process, 'credential uses', usesEveryMs, () => uses.flush());
  const formerHashes = createFormerHashes(process, store);
  startSweep(process, 'former hashes', usesEveryMs, formerHashes.flush);
  startSweep(process, 'idempotency', sweepEveryMs, () => sweepIdempotency(store.sql));
  startSweep(process, 'ended sessions', sweepEveryMs, () => removeEnded(store.sql));
  const deps: IdentityDeps = {
    store,
    cursors: createCursors(config.CURSOR_SECRET),
    keyedHash: createKeyedHash(config.KEY_HASH_SECRET),
    signingKeys,
    waitForRevocation: createRevocationWait(pause),
    auditRelay,
    auditKeys,
    events: createUserEvents(openEventRelay(process, store, config, 'identity')),
    cipher,
    uses,
    formerHashes,
    tokenTtlSeconds: config.TOKEN_TTL_SECONDS,
    tokenLimiter: createFairLimiter(tokenLimits),
    passwords: createPasswords(derivedKey(config, 'agent-service password salts 1'), createFairLimiter(passwordLimits)),
    idTokens: createIdTokens(config),
    sessions: { idleSeconds: config.SESSION_IDLE_SECONDS, maxSeconds: config.SESSION_MAX_SECONDS },
  };
  return serve(process, config, 'identity', implementation(deps));
}

/** Derives a key for one purpose, because one key must not serve two. */
const derivedKey = ({ KEY_HASH_SECRET }: IdentityConfig, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', KEY_HASH_SECRET[0] as string, '', purpose, 32));

const auditKeysOf = (config: IdentityConfig): AuditKeys =>
  new Map([[1, derivedKey(config, 'agent-service audit chain 1')], ...(config.AUDIT_KEYS ?? [])]);

function otherAuditKeys({ AUDIT_KEYS }: IdentityConfig): ConfigurationError {
  const setting = AUDIT_KEYS?.has(1) ? 'AUDIT_KEYS' : 'KEY_HASH_SECRET';
  return new ConfigurationError([
    `${setting}: not the one that the audit log was signed with, and new entries would break the log. Bring it back; if it is lost, add a later version to AUDIT_KEYS`,
  ]);
}
