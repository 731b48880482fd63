import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { deactivation, templateParams } from '../../schemas/template.ts';

export const deactivateTemplate = route({
  method: 'POST',
  path: '/v1/templates/{template_id}/deactivate',
  operationId: 'deactivateTemplate',
  summary: 'Put the agent of a template to rest',
  description: 'The agent is kept, inactive, with its conversations.',
  tag: 'Templates',
  auth: 'token',
  scope: 'templates:write',
  cost: 'write',
  params: templateParams,
  response: z.strictObject({ data: deactivation }),
  errors: ['template_not_activated'],
  async handler({ params }, { templates }) {
    const { templateId, agentId, deactivatedAt } = await templates.deactivateTemplate({ templateId: params.template_id });
    return { data: { template_id: templateId, agent_id: agentId, status: 'inactive' as const, deactivated_at: deactivatedAt } };
  },
});
