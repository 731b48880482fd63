import { z } from 'zod';
import { template, templateParams } from '../../schemas/template.ts';
import { toTemplate } from '../../schemas/template-messages.ts';
import { present } from '../present.ts';
import { route } from '../route.ts';

export const getTemplate = route({
  method: 'GET',
  path: '/v1/templates/{template_id}',
  operationId: 'getTemplate',
  summary: 'View a template',
  tag: 'Templates',
  auth: 'token',
  scope: 'templates:read',
  cost: 'read',
  params: templateParams,
  response: z.strictObject({ data: template }),
  async handler({ params }, { templates }) {
    const answer = await templates.getTemplate({ templateId: params.template_id });
    return { data: toTemplate(present(answer.template)) };
  },
});
