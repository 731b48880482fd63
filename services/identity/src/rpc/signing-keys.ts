import { operators, type RpcOf, ServiceError, services } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { revokeSigningKeyRow } from '../store/signing-keys.ts';
import { waitForRevocation } from './revocation.ts';

/** The audit chain of entries that belong to no organization. */
const serviceChain = 'service';

export const listSigningKeys = ({ signingKeys }: IdentityContext): RpcOf<'identity', 'listSigningKeys'> => ({
  allow: services('gateway'),
  async handle() {
    return { keys: await signingKeys.publicKeys() };
  },
});

export const rotateSigningKey = ({ signingKeys }: IdentityContext): RpcOf<'identity', 'rotateSigningKey'> => ({
  allow: operators,
  async handle() {
    return { kid: await signingKeys.rotate() };
  },
});

/** Revokes a signing key and answers when its tokens are refused everywhere. A second revocation changes nothing and succeeds. */
export const revokeSigningKey = ({ store, signingKeys, auditRelay }: IdentityContext): RpcOf<'identity', 'revokeSigningKey'> => ({
  allow: operators,
  async handle({ kid }, call) {
    if (!(await signingKeys.exists(kid))) throw new ServiceError('not_found', { message: 'There is no such signing key.', param: 'kid' });
    // Before the revocation, so that there is always a key that signs.
    const signingKid = await signingKeys.replace(kid);
    const revoked = await store.transaction(async ({ sql }) => {
      const row = await revokeSigningKeyRow(sql, kid);
      const target = { type: 'signing_key', id: kid };
      const changes = { signing_kid: signingKid };
      if (row?.isNew)
        await writeAudit(sql, call, { action: 'signing_key.revoked', organizationId: serviceChain, environment: '', target, changes });
      return row;
    });
    auditRelay.nudge();
    await waitForRevocation(revoked?.revokedForMs ?? 0);
    return { signingKid };
  },
});
