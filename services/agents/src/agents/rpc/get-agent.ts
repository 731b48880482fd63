import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { findAgent } from '../store/agents.ts';
import { toAgentMessage } from './agent-message.ts';

export const getAgent = ({ store }: AgentsContext): RpcOf<'agents', 'getAgent'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId }, call) {
    const agent = await findAgent(store.sql, tenantOf(call), agentId);
    if (!agent) throw new ServiceError('not_found');
    return { agent: toAgentMessage(agent) };
  },
});
