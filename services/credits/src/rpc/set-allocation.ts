import { callers, checkId, newId, type RpcOf } from '@agent-service/contracts';
import { once, writeAudit } from '@agent-service/store';
import type { CreditsContext } from '../context.ts';
import { toUserAllocation } from './messages.ts';
import { expect } from './outcomes.ts';

/** Sets a user's monthly limit and earmarks the credits for it. */
export const setAllocation = ({ store, ledgers, auditRelay }: CreditsContext): RpcOf<'credits', 'setAllocation'> => ({
  allow: callers({ scope: 'credits:write' }),
  async handle({ userId, monthlyLimit, rolloverEnabled }, call) {
    const { organizationId, environment } = call.tenant;
    checkId(userId, 'user_id');
    await ledgers.prepare();
    const response = await once(store, call, async ({ sql }) => {
      // An id of this very request: whether the caller repeats himself is the idempotency record's to know.
      const { result } = await ledgers.apply(
        sql,
        { organizationId, environment },
        { kind: 'allocate', id: newId('trf'), userId, monthlyLimit, rollover: rolloverEnabled },
      );
      const { allocation } = expect(result, 'allocate');
      await writeAudit(sql, call, {
        action: 'credits.allocated',
        organizationId,
        environment,
        target: { type: 'user', id: userId },
        changes: { monthly_limit: monthlyLimit, rollover_enabled: rolloverEnabled },
      });
      return { allocation: toUserAllocation(allocation) };
    });
    auditRelay.nudge();
    return response;
  },
});
