import { callers, type RpcOf } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import { toOrganizationBalance } from './messages.ts';

export const getBalance = ({ ledgers }: CreditsContext): RpcOf<'credits', 'getBalance'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle(_request, call) {
    const { organizationId, environment } = call.tenant;
    const ledger = await ledgers.find({ organizationId, environment });
    return { balance: toOrganizationBalance(organizationId, ledger) };
  },
});
