import { required } from '@agent-service/contracts';
import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { route } from '../routing/route.ts';
import { agentDescription, agentName, tier } from '../schemas/agent.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../schemas/list-query.ts';
import {
  activation,
  deactivation,
  duplicatedAgent,
  template,
  templateCategory,
  templateParams,
  templateStatus,
  templateSummary,
  toTemplate,
  toTemplateSummary,
} from '../schemas/template.ts';

export const activateTemplate = route({
  method: 'POST',
  path: '/v1/templates/{template_id}/activate',
  operationId: 'activateTemplate',
  summary: 'Make the agent of a template available in the organization',
  description:
    'An agent that was kept when the template was deactivated is activated again, with the overrides applied; without one a new agent is made.',
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

export const deactivateTemplate = route({
  method: 'POST',
  path: '/v1/templates/{template_id}/deactivate',
  operationId: 'deactivateTemplate',
  summary: 'Deactivate the agent of a template',
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

export const duplicateTemplate = route({
  method: 'POST',
  path: '/v1/templates/{template_id}/duplicate',
  operationId: 'duplicateTemplate',
  summary: 'Make an agent of one’s own from a template',
  description: 'A draft, independent of the template: change it as any agent, and make it active with PATCH.',
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
    const response = await templates.getTemplate({ templateId: params.template_id });
    return { data: toTemplate(required(response.template)) };
  },
});

export const listTemplates = route({
  method: 'GET',
  path: '/v1/templates',
  operationId: 'listTemplates',
  summary: 'List the templates by category and name',
  tag: 'Templates',
  auth: 'token',
  scope: 'templates:read',
  cost: 'read',
  query: z.strictObject({
    limit: limit(20, 100),
    cursor,
    category: templateCategory.optional(),
    status: templateStatus.optional(),
    search: text(0, 2_000).optional().meta({ description: 'A part of the name or the description, in any case.' }),
  }),
  response: z.strictObject({ data: z.array(templateSummary), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { templates }) {
    const { category = '', status = '', search = '' } = query;
    const { templates: listed, page } = await templates.listTemplates({ page: pageRequest(query), category, status, search });
    return { data: listed.map(toTemplateSummary), meta: toListMeta(page, requestId) };
  },
});
