import { callers, type RpcOf } from '@agent-service/contracts';
import type { TemplatesContext } from '../context.ts';
import { type Filter, matching, type Place, pageOf } from '../domain/listing.ts';
import { toSummary } from './template-message.ts';
import { readStatuses } from './template-status.ts';

const defaultLimit = 20;
const maxLimit = 100;

export const listTemplates = (context: TemplatesContext): RpcOf<'templates', 'listTemplates'> => ({
  allow: callers({ scope: 'templates:read' }),
  async handle({ page, category, status, search }, { tenant: { organizationId, environment } }) {
    const filter: Filter = { category, status, search };
    const binding = ['templates', organizationId, environment, category, status, search];
    const start = context.cursors.decode(binding, page?.cursor ?? '');
    const statusOf = await readStatuses(context);
    const found = matching(context.catalogue.all, filter, statusOf);
    const limit = Math.min(page?.limit || defaultLimit, maxLimit);
    // Whoever sealed the cursor put a place in it.
    const { templates, last } = pageOf(found, start?.after as Place | undefined, limit);
    return {
      templates: templates.map((template) => toSummary(context, template, statusOf(template.id))),
      page: { total: found.length, nextCursor: last ? context.cursors.encode(binding, { after: last }) : '' },
    };
  },
});
