import { type Call, operatorService, ServiceError } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { revokeCredential } from '../store/credentials.ts';
import { untilSettled } from './revocation-wait.ts';

interface Kind {
  table: 'api_keys' | 'oauth_clients';
  action: string;
  target: string;
}

/** Ends a credential and answers once it is dead everywhere; a second time changes nothing and succeeds as well. */
export async function revoke({ store, auditRelay }: IdentityContext, call: Call, kind: Kind, id: string): Promise<void> {
  const place = call.caller.service === operatorService ? undefined : call.tenant;
  const revoked = await store.transaction(async ({ sql }) => {
    const row = await revokeCredential(sql, kind.table, id, place);
    if (!row) throw new ServiceError('not_found');
    if (row.now) {
      const { organizationId, environment, userId } = row;
      await writeAudit(sql, call, {
        action: kind.action,
        organizationId,
        environment,
        target: { type: kind.target, id },
        changes: { user_id: userId },
      });
    }
    return row;
  });
  auditRelay.nudge();
  await untilSettled(revoked.revokedForMs);
}
