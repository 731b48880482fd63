import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { agentStatus, agentSummary, toAgentSummary } from '../../schemas/agent.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../../schemas/list-query.ts';

export const listAgents = route({
  method: 'GET',
  path: '/v1/agents',
  operationId: 'listAgents',
  summary: 'List the agents, newest first',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  query: z.strictObject({
    limit: limit(20, 100),
    cursor,
    category: text(0, 2_000).optional().meta({ description: 'Agents of this category, or of none where it is empty.' }),
    status: agentStatus.optional(),
    search: text(0, 2_000).optional().meta({ description: 'A part of the name or the description, in any case.' }),
  }),
  response: z.strictObject({ data: z.array(agentSummary), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { agents }) {
    const { category, status = '', search = '' } = query;
    const filter = { page: pageRequest(query), status, search, ...(category !== undefined && { category }) };
    const { agents: listed, page } = await agents.listAgents(filter);
    return { data: listed.map(toAgentSummary), meta: toListMeta(page, requestId) };
  },
});
