import { checkId, checkTenant, operators, type RpcOf } from '@agent-service/contracts';
import { writeAudit } from '@agent-service/store';
import type { CreditsContext } from '../context.ts';
import { toOrganizationBalance } from './messages.ts';
import { expect } from './outcomes.ts';

/** Brings purchased credits into the pool, once for each id. */
export const grant = ({ store, ledgers, auditRelay }: CreditsContext): RpcOf<'credits', 'grant'> => ({
  allow: operators,
  async handle({ tenant: message, grantId, amount }, call) {
    const tenant = checkTenant(message);
    const id = checkId(grantId, 'grant_id');
    await ledgers.prepare();
    const response = await store.transaction(async ({ sql }) => {
      const { result, ledger, repeated } = await ledgers.apply(sql, tenant, { kind: 'grant', id, amount: Number(amount) });
      expect(result, 'grant');
      if (!repeated) {
        await writeAudit(sql, call, {
          action: 'credits.granted',
          ...tenant,
          target: { type: 'organization', id: tenant.organizationId },
          changes: { grant_id: id, amount: Number(amount) },
        });
      }
      return { balance: toOrganizationBalance(tenant.organizationId, ledger) };
    });
    auditRelay.nudge();
    return response;
  },
});
