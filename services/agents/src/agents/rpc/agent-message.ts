import { type RpcOf, ServiceError } from '@agent-service/contracts';
import { changesFromMessage, definitionToMessage } from '@agent-service/contracts/agents/definition';
import { agentStatuses } from '@agent-service/contracts/agents/fields';
import type { Agent, AgentChanges } from '../domain/agent.ts';

type UpdateRequest = Parameters<RpcOf<'agents', 'updateAgent'>['handle']>[0];

const iso = (at: number) => new Date(at).toISOString();

export const toAgentMessage = (agent: Agent) => ({
  ...definitionToMessage(agent),
  id: agent.id,
  status: agent.status,
  createdAt: iso(agent.createdAt),
  updatedAt: iso(agent.updatedAt),
  createdBy: agent.createdBy,
  sourceTemplateId: agent.sourceTemplateId,
  version: agent.version,
});

export function fromUpdateRequest(request: UpdateRequest): AgentChanges {
  const status = agentStatuses.find((name) => name === request.status);
  if (request.status !== undefined && status === undefined)
    throw new ServiceError('invalid_request', { message: `status must be one of ${agentStatuses.join(', ')}.`, param: 'status' });
  return { ...changesFromMessage(request), status };
}
