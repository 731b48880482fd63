import { callers, newId, type RpcOf } from '@agent-service/contracts';
import { once, writeAudit } from '@agent-service/store';
import type { CreditsContext } from '../context.ts';
import type { Settings } from '../domain/accounts.ts';
import { toOrganizationBalance } from './messages.ts';
import { expect } from './outcomes.ts';

type Request = Parameters<RpcOf<'credits', 'updateSettings'>['handle']>[0];

export const updateSettings = ({ store, ledgers, auditRelay }: CreditsContext): RpcOf<'credits', 'updateSettings'> => ({
  allow: callers({ scope: 'credits:write', admin: true }),
  async handle(request, call) {
    const { organizationId, environment } = call.tenant;
    const changes = changesOf(request);
    await ledgers.prepare();
    const response = await once(store, call, async ({ sql }) => {
      const { result, ledger } = await ledgers.apply(sql, { organizationId, environment }, { kind: 'settings', id: newId('trf'), changes });
      expect(result, 'settings');
      await writeAudit(sql, call, {
        action: 'credits.settings_updated',
        organizationId,
        environment,
        target: { type: 'organization', id: organizationId },
        changes: { ...changes },
      });
      return { balance: toOrganizationBalance(organizationId, ledger) };
    });
    auditRelay.nudge();
    return response;
  },
});

function changesOf(request: Request): Partial<Settings> {
  const { autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold, clearLowBalanceThreshold, defaultMonthlyLimit } =
    request;
  const low = clearLowBalanceThreshold ? null : lowBalanceThreshold;
  const given = Object.entries({ autoReplenish, replenishThreshold, replenishAmount, lowBalanceThreshold: low, defaultMonthlyLimit });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Partial<Settings>;
}
