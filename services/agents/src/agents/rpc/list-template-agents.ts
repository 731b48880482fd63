import { type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../../context.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { listTemplateAgents as selectTemplateAgents } from '../store/template-agents.ts';

export const listTemplateAgents = ({ store }: AgentsContext): RpcOf<'agents', 'listTemplateAgents'> => ({
  allow: { ...services('templates'), scope: 'templates:read' },
  handle: async (_, call) => ({ agents: await selectTemplateAgents(store.sql, tenantOf(call)) }),
});
