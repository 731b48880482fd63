import { type Call, callersAndOperators, operatorService, type RpcOf, requirePrincipal, ServiceError } from '@agent-service/contracts';
import { type Transaction, writeAudit } from '@agent-service/store';
import { sleep } from '@agent-service/work';
import type { IdentityDeps } from '../deps.ts';
import { type CredentialTable, revokeCredential } from '../store/credentials.ts';
import { changeAs } from './caller.ts';

export const revokeKey = (deps: IdentityDeps): RpcOf<'identity', 'revokeKey'> => ({
  allow: callersAndOperators({ admin: true }),
  async handle({ keyId }, call) {
    await revoke(deps, call, { table: 'api_keys', action: 'key.revoked', target: { type: 'key', id: keyId } });
    return {};
  },
});

export const revokeOauthClient = (deps: IdentityDeps): RpcOf<'identity', 'revokeOauthClient'> => ({
  allow: callersAndOperators({ admin: true }),
  async handle({ clientId }, call) {
    await revoke(deps, call, { table: 'oauth_clients', action: 'oauth_client.revoked', target: { type: 'oauth_client', id: clientId } });
    return {};
  },
});

interface Revocation {
  readonly table: CredentialTable;
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string };
}

/** Revokes a credential and answers when no gateway accepts it any more. A second revocation changes nothing and succeeds. */
async function revoke(deps: IdentityDeps, call: Call, { table, action, target }: Revocation): Promise<void> {
  const { auditRelay, waitForRevocation } = deps;
  // Operators may revoke credentials of every tenant.
  const tenant = call.caller.service === operatorService ? undefined : requirePrincipal(call);
  const effect = async ({ sql }: Transaction) => {
    const row = await revokeCredential(sql, table, target.id, tenant);
    if (!row) throw new ServiceError('not_found');
    const { organizationId, environment, userId, isNew } = row;
    if (isNew) await writeAudit(sql, call, { action, organizationId, environment, target, changes: { user_id: userId } });
    return row;
  };
  const revoked = await changeAs(deps, call, effect, target.id);
  auditRelay.nudge();
  await waitForRevocation(revoked.revokedForMs);
}

/** Longer than the second for which a gateway keeps a verdict on a token (`verdictLifetimeMs` of its authenticator). */
const revocationWaitMs = 1_200;
/** A revocation that was written this long ago was committed long ago. */
const maxCommitMs = 30_000;

/** `pause` is replaced by tests without a gateway. */
export const createRevocationWait =
  (pause: (ms: number) => Promise<unknown> = sleep): IdentityDeps['waitForRevocation'] =>
  async (revokedForMs) => {
    if (revokedForMs <= maxCommitMs) await pause(revocationWaitMs);
  };
