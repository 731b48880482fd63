import { type RpcOf, services } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import { listOverdueHolds as selectOverdueHolds } from '../store/overdue-holds.ts';

const defaultLimit = 100;
const maxLimit = 1_000;
const binding = ['overdue holds'];

export const listOverdueHolds = ({ store, cursors, now }: CreditsContext): RpcOf<'credits', 'listOverdueHolds'> => ({
  allow: services('agents'),
  async handle({ page }) {
    const limit = Math.min(page?.limit || defaultLimit, maxLimit);
    const start = cursors.decode(binding, page?.cursor ?? '');
    const rows = await selectOverdueHolds(store.sql, now(), start?.after, limit + 1);
    const last = rows.length > limit ? rows[limit - 1] : undefined;
    return {
      holds: rows.slice(0, limit).map(({ organizationId, environment, holdId, userId, amount, deadlineMs }) => ({
        tenant: { organizationId, environment },
        holdId,
        userId,
        amount,
        deadlineMs,
      })),
      nextCursor: last ? cursors.encode(binding, { after: [last.deadlineMs, last.organizationId, last.environment, last.holdId] }) : '',
    };
  },
});
