import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { agentName, tier } from '../../schemas/agent.ts';
import { activation, templateParams } from '../../schemas/template.ts';

export const activateTemplate = route({
  method: 'POST',
  path: '/v1/templates/{template_id}/activate',
  operationId: 'activateTemplate',
  summary: 'Make the agent of a template available in the organization',
  description:
    'An agent that was kept when the template was deactivated is woken, with the overrides applied; without one a new agent is made.',
  tag: 'Templates',
  auth: 'token',
  scope: 'templates:write',
  cost: 'write',
  params: templateParams,
  body: z.strictObject({ name_override: agentName.optional(), model_override: tier.optional() }),
  bodyOptional: true,
  status: 201,
  response: z.strictObject({ data: activation }),
  errors: ['template_already_activated', 'template_requirements_unmet'],
  async handler({ params, body }, { templates }) {
    const { name_override: nameOverride = '', model_override: modelOverride = '' } = body;
    const activated = await templates.activateTemplate({ templateId: params.template_id, nameOverride, modelOverride });
    return {
      data: {
        template_id: activated.templateId,
        agent_id: activated.agentId,
        name: activated.name,
        status: 'active' as const,
        activated_at: activated.activatedAt,
      },
    };
  },
});
