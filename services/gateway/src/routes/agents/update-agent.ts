import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { bodyLimits } from '../../http/body.ts';
import { reply, route } from '../../routing/route.ts';
import { agentChanges, agentParams, fromChanges, toAgentSummary, updatedAgent } from '../../schemas/agent.ts';
import { type EntityTags, entityTag, ifMatch, versionsMeant } from '../../schemas/conditions.ts';

/** No agent has it, so that tags which name nothing of ours change nothing. */
const noVersion = 0;

export const updateAgent = route({
  method: 'PATCH',
  path: '/v1/agents/{agent_id}',
  operationId: 'updateAgent',
  summary: 'Change an agent',
  description:
    'A merge patch: what is left out stays as it is, and null takes an optional field back to its default. A draft can be made active, an active agent inactive and back.',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:write',
  cost: 'write',
  params: agentParams,
  headers: z.object({ 'If-Match': ifMatch }),
  body: agentChanges,
  bodyLimits: bodyLimits.agent,
  response: z.strictObject({ data: updatedAgent }),
  successHeaders: ['ETag'],
  errors: ['invalid_status_transition', 'precondition_failed'],
  async handler({ params, headers, body }, { agents }) {
    const ifVersions = versions(headers['If-Match']);
    const answer = await agents.updateAgent({ agentId: params.agent_id, ...fromChanges(body), ifVersions });
    const changed = required(answer.agent);
    const { id, name, status, model, updated_at } = toAgentSummary(changed);
    return reply({ data: { id, name, status, model, updated_at } }, { headers: ['ETag', entityTag(changed.version)] });
  },
});

function versions(condition: EntityTags | undefined): number[] {
  const intended = condition && versionsMeant(condition);
  if (intended === undefined) return [];
  return intended.length > 0 ? intended : [noVersion];
}
