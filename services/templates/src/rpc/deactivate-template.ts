import { callers, type RpcOf } from '@agent-service/contracts';
import type { TemplatesContext } from '../context.ts';
import { found } from './found.ts';
import { given } from './given.ts';
import { inItsName } from './in-its-name.ts';

export const deactivateTemplate = (context: TemplatesContext): RpcOf<'templates', 'deactivateTemplate'> => ({
  allow: callers({ scope: 'templates:write' }),
  async handle({ templateId }, call) {
    found(context, templateId);
    const { agent } = await inItsName(call, () => context.agents.deactivateTemplateAgent({ templateId }));
    const { id: agentId, status, updatedAt: deactivatedAt } = given(agent);
    return { templateId, agentId, status, deactivatedAt };
  },
});
