import { required } from '@agent-service/contracts';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { template, templateParams, toTemplate } from '../../schemas/template.ts';

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
    return { data: toTemplate(required(answer.template)) };
  },
});
