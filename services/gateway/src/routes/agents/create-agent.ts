import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { bodyLimits } from '../../http/body.ts';
import { route } from '../../routing/route.ts';
import { createdAgent, fromNewAgent, newAgent, toAgentSummary } from '../../schemas/agent.ts';

export const createAgent = route({
  method: 'POST',
  path: '/v1/agents',
  operationId: 'createAgent',
  summary: 'Create an agent',
  description: 'It begins as a draft; make it active with PATCH.',
  tag: 'Agents',
  auth: 'token',
  scope: 'agents:write',
  cost: 'write',
  body: newAgent,
  bodyLimits: bodyLimits.agent,
  status: 201,
  response: z.strictObject({ data: createdAgent }),
  async handler({ body }, { agents }) {
    const answer = await agents.createAgent(fromNewAgent(body));
    const { id, name, status, created_at } = toAgentSummary(required(answer.agent));
    return { data: { id, name, status, created_at } };
  },
});
