import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { CreditsContext } from '../context.ts';
import { dayRange } from '../domain/usage.ts';
import { aggregateAgents } from './aggregate-agents.ts';
import { aggregatePeriods } from './aggregate-periods.ts';
import { aggregateUsers } from './aggregate-users.ts';
import type { Aggregate, Aggregation } from './aggregation.ts';
import { bindingOf, boundsOf, limitOf, scopeOf, valid } from './usage-request.ts';

const aggregates: Readonly<Record<string, Aggregate>> = {
  day: aggregatePeriods('day'),
  week: aggregatePeriods('week'),
  month: aggregatePeriods('month'),
  user: aggregateUsers,
  agent: aggregateAgents,
};

export const aggregateUsage = ({ store, cursors, now }: CreditsContext): RpcOf<'credits', 'aggregateUsage'> => ({
  allow: callers({ scope: 'credits:read' }),
  async handle({ page, filter, groupBy }, call) {
    const aggregate = aggregates[groupBy];
    if (!aggregate)
      throw new ServiceError('invalid_request', { message: 'group_by must be day, week, month, user or agent.', param: 'group_by' });
    const scope = scopeOf(call.tenant, filter);
    const binding = [groupBy, ...bindingOf('usage', scope, filter)];
    const start = cursors.decode(binding, page?.cursor ?? '');
    // The range travels in the cursor: the pages of one list are of one range, even if the day or the month turns meanwhile.
    const [from, to, ...after] = start?.after ?? [];
    const days = start ? { from: String(from), to: String(to) } : daysOf(valid(dayRange(boundsOf(filter), now())));
    const { last, total, ...found }: Aggregation = await aggregate(store.sql, { scope, days, limit: limitOf(page), after });
    const nextCursor = last ? cursors.encode(binding, { after: [days.from, days.to, ...last] }) : '';
    return { ...found, dateRange: days, page: { total, nextCursor } };
  },
});

const daysOf = ({ from, to }: { from: string; to: string }) => ({ from, to });
