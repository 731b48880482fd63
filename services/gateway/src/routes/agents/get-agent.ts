import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { bare, reply, route } from '../../routing/route.ts';
import { agent, agentParams, toAgent } from '../../schemas/agent.ts';
import { entityTag, ifNoneMatch, isNamed } from '../../schemas/conditions.ts';

export const getAgent = route({
  method: 'GET',
  path: '/v1/agents/{agent_id}',
  operationId: 'getAgent',
  summary: 'View an agent',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:read',
  cost: 'read',
  params: agentParams,
  headers: z.object({ 'If-None-Match': ifNoneMatch }),
  response: z.strictObject({ data: agent }),
  successHeaders: ['ETag'],
  otherSuccesses: [{ status: 304, description: 'If-None-Match names what there is.', headers: ['ETag'] }],
  async handler({ params, headers: { 'If-None-Match': known } }, { agents }) {
    const current = required((await agents.getAgent({ agentId: params.agent_id })).agent);
    const headers = ['ETag', entityTag(current.version)];
    return known && isNamed(known, current.version) ? bare({ status: 304, headers }) : reply({ data: toAgent(current) }, { headers });
  },
});
