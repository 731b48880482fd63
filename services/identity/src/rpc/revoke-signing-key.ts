import { operators, type RpcOf, ServiceError } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { untilSettled } from './revocation-wait.ts';

/** The audit chain of what belongs to no organization. */
const serviceChain = 'service';

const statement = `
  with before as (select kid, revoked_at from signing_keys where kid = $1 for update)
  update signing_keys as key set revoked_at = coalesce(before.revoked_at, clock_timestamp()) from before where key.kid = before.kid
  returning before.revoked_at is null as now, (extract(epoch from clock_timestamp() - key.revoked_at) * 1000)::float8 as "revokedForMs"`;

interface Revoked {
  now: boolean;
  revokedForMs: number;
}

/** Ends a signing key and answers once its tokens are refused everywhere; a second time changes nothing and succeeds as well. */
export const revokeSigningKey = ({ store, signingKeys, auditRelay }: IdentityContext): RpcOf<'identity', 'revokeSigningKey'> => ({
  allow: operators,
  async handle({ kid }, call) {
    const [known] = await store.sql('select 1 from signing_keys where kid = $1', [kid]);
    if (!known) throw new ServiceError('not_found', { message: 'There is no such signing key.', param: 'kid' });
    // First of all: tokens must be signed although this key is gone.
    const signingKid = await signingKeys.succeed(kid);
    const revoked = await store.transaction(async ({ sql }) => {
      const [row] = await sql<Revoked>(statement, [kid]);
      if (row?.now) {
        const target = { type: 'signing_key', id: kid };
        const changes = { signing_kid: signingKid };
        await writeAudit(sql, call, { action: 'signing_key.revoked', organizationId: serviceChain, environment: '', target, changes });
      }
      return row;
    });
    auditRelay.nudge();
    await untilSettled(revoked?.revokedForMs ?? 0);
    return { signingKid };
  },
});
