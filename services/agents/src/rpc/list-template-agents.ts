import { type RpcOf, services } from '@agent-service/contracts';
import type { AgentsContext } from '../context.ts';
import { listTemplateAgents as selectTemplateAgents } from '../store/template-agents.ts';
import { tenantOf } from './tenant.ts';

export const listTemplateAgents = ({ store }: AgentsContext): RpcOf<'agents', 'listTemplateAgents'> => ({
  allow: { ...services('templates'), scope: 'templates:read' },
  handle: async (_, call) => ({ agents: await selectTemplateAgents(store.sql, tenantOf(call)) }),
});
