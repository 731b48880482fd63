import { callers, type RpcOf } from '@agent-service/contracts';
import { newId, once } from '@agent-service/store';
import type { AgentsContext } from '../context.ts';
import { draft } from '../domain/agent.ts';
import { checkScope } from '../sources/check-scope.ts';
import { insertAgent } from '../store/agents.ts';
import { nudgeRelays, recordEffects } from './agent-effects.ts';
import { definitionOf } from './agent-input.ts';
import { toAgentMessage } from './agent-message.ts';
import { tenantOf } from './tenant.ts';

export const createAgent = (context: AgentsContext): RpcOf<'agents', 'createAgent'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle(request, call) {
    const definition = definitionOf(request);
    const tenant = tenantOf(call);
    await checkScope(context.sources, tenant, definition.tables);
    const response = await once(context.store, call, async ({ sql }) => {
      const at = context.now();
      const agent = draft(definition, { id: newId('agt', at), createdBy: call.tenant.userId, createdAt: at });
      await insertAgent(sql, tenant, agent);
      await recordEffects(context, sql, call, { tenant, event: { type: 'agent.created', agent }, before: undefined, at });
      return { agent: toAgentMessage(agent) };
    });
    nudgeRelays(context);
    return response;
  },
});
