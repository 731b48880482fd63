import { callers, type RpcOf } from '@agent-service/contracts';
import type { TemplatesContext } from '../context.ts';
import { found } from './found.ts';
import { given } from './given.ts';
import { inItsName } from './in-its-name.ts';
import { toDefinition } from './template-message.ts';

export const duplicateTemplate = (context: TemplatesContext): RpcOf<'templates', 'duplicateTemplate'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle({ templateId, name, description: own }, call) {
    const definition = toDefinition(found(context, templateId));
    const request = { ...definition, name, description: own ?? definition.description, sourceTemplateId: templateId };
    const { agent } = await inItsName(call, () => context.agents.createAgent(request));
    const { id, name: named, description, status, sourceTemplateId, createdAt } = given(agent);
    return { id, name: named, description, status, sourceTemplateId, createdAt };
  },
});
