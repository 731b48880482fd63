import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { findMessage } from '../store/messages.ts';
import { toMessage } from './message.ts';

export const getMessage = ({ store }: AgentsContext): RpcOf<'agents', 'getMessage'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId, messageId }, call) {
    const row = await findMessage(store.sql, { tenant: tenantOf(call), agentId, userId: call.tenant.userId }, messageId);
    if (!row) throw new ServiceError('not_found');
    return { message: toMessage(row) };
  },
});
