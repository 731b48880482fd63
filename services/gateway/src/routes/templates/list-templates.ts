import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { cursor, limit, listMeta, pageRequest, toListMeta } from '../../schemas/list-query.ts';
import { templateCategory, templateStatus, templateSummary, toTemplateSummary } from '../../schemas/template.ts';

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
