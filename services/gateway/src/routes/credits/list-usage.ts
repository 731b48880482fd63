import type { Client } from '@agent-service/contracts';
import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { cursor, isoDate, limit, pageRequest, toListMeta } from '../../schemas/list-query.ts';
import { toAggregate, toUsageRecord, usageAnswer } from '../../schemas/usage.ts';

const id = text(1, 128).optional();

const query = z.strictObject({
  limit: limit(50, 200),
  cursor,
  user_id: id,
  agent_id: id,
  date_from: isoDate.optional(),
  date_to: isoDate.optional().meta({ description: 'Included: of a date the whole day in UTC, of a time its millisecond.' }),
  group_by: z
    .enum(['day', 'week', 'month', 'user', 'agent'])
    .optional()
    .meta({ description: 'Aggregates over whole days, 366 at most: without dates the current month. Without it the records themselves.' }),
});

export const listUsage = route({
  method: 'GET',
  path: '/v1/credits/usage',
  operationId: 'listUsage',
  summary: 'List or aggregate the usage of credits',
  description: 'Records come newest first, periods earliest first, users and agents by what they used.',
  tag: 'Credits',
  auth: 'token',
  scope: 'credits:read',
  cost: 'read',
  query,
  response: usageAnswer,
  errors: ['invalid_cursor'],
  handler: ({ query: input, requestId }, { credits }) => answer(credits, input, requestId),
});

async function answer(credits: Client<'credits'>, input: z.output<typeof query>, requestId: string): Promise<z.output<typeof usageAnswer>> {
  const { user_id: userId = '', agent_id: agentId = '', date_from: dateFrom = '', date_to: dateTo = '', group_by: groupBy } = input;
  const request = { page: pageRequest(input), filter: { userId, agentId, dateFrom, dateTo } };
  if (groupBy !== undefined) return toAggregate(groupBy, await credits.aggregateUsage({ ...request, groupBy }), requestId);
  const { records, page } = await credits.listUsage(request);
  return { data: records.map(toUsageRecord), meta: toListMeta(page, requestId) };
}
