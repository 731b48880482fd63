import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { agentDescription, agentName } from '../../schemas/agent.ts';
import { duplicatedAgent, templateParams } from '../../schemas/template.ts';

export const duplicateTemplate = route({
  method: 'POST',
  path: '/v1/templates/{template_id}/duplicate',
  operationId: 'duplicateTemplate',
  summary: 'Make an agent of one’s own from a template',
  description: 'A draft, which the template has no hold on: change it as any agent, and make it active with PATCH.',
  tag: 'Templates',
  auth: 'token',
  scope: 'agents:write',
  cost: 'write',
  params: templateParams,
  body: z.strictObject({ name: agentName, description: agentDescription.optional() }),
  status: 201,
  response: z.strictObject({ data: duplicatedAgent }),
  async handler({ params, body: { name, description: own } }, { templates }) {
    const request = { templateId: params.template_id, name, ...(own !== undefined && { description: own }) };
    const duplicate = await templates.duplicateTemplate(request);
    return {
      data: {
        id: duplicate.id,
        name: duplicate.name,
        description: duplicate.description,
        status: 'draft' as const,
        source_template_id: duplicate.sourceTemplateId,
        created_at: duplicate.createdAt,
      },
    };
  },
});
