import { hkdfSync } from 'node:crypto';
import { serve } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { createCursors, openCipher, openEventRelay, openStore, startRelay, startSweep, sweepIdempotency } from '@agent-service/store';
import type { IdentityConfig } from './config.ts';
import type { IdentityDeps } from './deps.ts';
import type { AuditKeys } from './domain/audit-chain.ts';
import { createKeyedHash } from './domain/secrets.ts';
import { prepareSchema, schema } from './prepare-schema.ts';
import { implementation } from './rpc/index.ts';
import { createOrganizationLimiter } from './rpc/organization-limiter.ts';
import { type AuditRecord, appendAudit, signOldChains } from './store/audit-append.ts';
import { isAppendOnly } from './store/audit-verify.ts';
import { createCredentialUses } from './store/credential-uses.ts';
import { sealedOutcomes } from './store/credentials.ts';
import { entities } from './store/entities.ts';
import { createUserEvents } from './store/users.ts';
import { openSigningKeys, sealedPrivateKeys } from './tokens/signing-keys.ts';

const sweepEveryMs = 60_000;
const usesEveryMs = 5_000;
/** A token takes about 3 ms. Two at once leave threads and connections to authentication. */
const tokenLimits = { permits: 2, maxWaiting: 100 };

/** Composes the service; resolves to its gRPC port. */
export async function start(process: ProcessContext, config: IdentityConfig): Promise<number> {
  await prepareSchema(config);
  const store = await openStore(process, config, { schema, entities });
  const auditKeys = auditKeysOf(config);
  await signOldChains(store, auditKeys);
  if (!(await isAppendOnly(store.sql))) process.logger.warn({ event: 'audit_log_not_separated', setting: 'DATABASE_OWNER_URL' });
  const cipher = await openCipher(process, store, config, [sealedPrivateKeys, sealedOutcomes]);
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
        messages.map((message) => message.payload),
      ),
  });
  const uses = createCredentialUses(store);
  startSweep(process, 'credential uses', usesEveryMs, () => uses.flush());
  startSweep(process, 'idempotency', sweepEveryMs, () => sweepIdempotency(store.sql));
  const deps: IdentityDeps = {
    store,
    cursors: createCursors(config.CURSOR_SECRET),
    keyedHash: createKeyedHash(config.KEY_HASH_SECRET),
    signingKeys,
    auditRelay,
    auditKeys,
    events: createUserEvents(openEventRelay(process, store, config, 'identity')),
    cipher,
    uses,
    tokenTtlSeconds: config.TOKEN_TTL_SECONDS,
    tokenLimiter: createOrganizationLimiter(tokenLimits),
  };
  return serve(process, config, 'identity', implementation(deps));
}

/** Derives a key for the audit log, because one key must not serve two purposes. */
function auditKeysOf({ KEY_HASH_SECRET, AUDIT_KEYS }: IdentityConfig): AuditKeys {
  const derived = Buffer.from(hkdfSync('sha256', KEY_HASH_SECRET, '', 'agent-service audit chain 1', 32));
  return new Map([[1, derived], ...(AUDIT_KEYS ?? [])]);
}
