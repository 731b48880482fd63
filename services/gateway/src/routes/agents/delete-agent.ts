import { route } from '../../routing/route.ts';
import { agentParams } from '../../schemas/agent.ts';

export const deleteAgent = route({
  method: 'DELETE',
  path: '/v1/agents/{agent_id}',
  operationId: 'deleteAgent',
  summary: 'Delete an agent with its conversations',
  description: 'This can not be undone. Answers under way end without a charge.',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:write',
  cost: 'write',
  params: agentParams,
  async handler({ params }, { agents }) {
    await agents.deleteAgent({ agentId: params.agent_id });
    return undefined;
  },
});
