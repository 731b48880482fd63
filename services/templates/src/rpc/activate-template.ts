import { type Call, callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import type { TemplatesContext } from '../context.ts';
import { missingPermissions, type Template } from '../domain/template.ts';
import { found } from './found.ts';
import { given } from './given.ts';
import { inItsName } from './in-its-name.ts';
import { toDefinition } from './template-message.ts';

export const activateTemplate = (context: TemplatesContext): RpcOf<'templates', 'activateTemplate'> => ({
  allow: callers({ scope: 'templates:write' }),
  async handle({ templateId, nameOverride, modelOverride }, call) {
    const template = found(context, templateId);
    checkPermissions(template, call);
    const request = {
      templateId,
      definition: toDefinition(template),
      requiredTables: [...template.requiredTables, ...template.tables.filter((table) => !template.requiredTables.includes(table))],
      ...(nameOverride !== '' && { name: nameOverride }),
      ...(modelOverride !== '' && { model: modelOverride }),
    };
    const { agent } = await inItsName(call, () => context.agents.activateTemplateAgent(request));
    const { id: agentId, name, status, updatedAt: activatedAt } = given(agent);
    return { templateId, agentId, name, status, activatedAt };
  },
});

function checkPermissions(template: Template, { tenant: { scopes } }: Call): void {
  const missing = missingPermissions(template, scopes);
  if (missing.length === 0) return;
  throw new ServiceError('insufficient_scope', {
    message: `The token lacks what this template requires: ${missing.join(', ')}.`,
    details: { required: [...template.requiredPermissions], granted: [...scopes] },
  });
}
