import { callers, type RpcOf } from '@agent-service/contracts';
import type { TemplatesContext } from '../context.ts';
import { found } from './found.ts';
import { toSummary } from './template-message.ts';
import { readStatuses } from './template-status.ts';

export const getTemplate = (context: TemplatesContext): RpcOf<'templates', 'getTemplate'> => ({
  allow: callers({ scope: 'templates:read' }),
  async handle({ templateId }) {
    const template = found(context, templateId);
    const statusOf = await readStatuses(context);
    return {
      template: {
        summary: toSummary(context, template, statusOf(templateId)),
        longDescription: template.longDescription,
        requiredPermissions: [...template.requiredPermissions],
        suggestedPrompts: [...template.suggestedPrompts],
        changelog: template.changelog.map((change) => ({ ...change })),
      },
    };
  },
});
