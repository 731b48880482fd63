import { text } from '@agent-service/contracts/text';
import { z } from 'zod';
import { route } from '../../routing/route.ts';
import { cursor, isoDate, limit, listMeta, pageRequest, toListMeta, toRange } from '../../schemas/list-query.ts';
import { auditEntry, toAuditEntry } from '../../schemas/user.ts';

const name = text(1, 200).optional();

export const listAuditEntries = route({
  method: 'GET',
  path: '/v1/audit',
  operationId: 'listAuditEntries',
  summary: 'List the audit log, newest first',
  tag: 'Audit',
  auth: 'token',
  scope: 'audit:read',
  cost: 'read',
  extension: true,
  query: z.strictObject({
    limit: limit(50, 200),
    cursor,
    actor: name.meta({ description: 'Id of who acted.' }),
    action: name.meta({ description: 'As `user.updated`.' }),
    target: name.meta({ description: 'Id of what was acted on.' }),
    date_from: isoDate.optional(),
    date_to: isoDate.optional().meta({ description: 'A date includes its day; a time is not included itself.' }),
  }),
  response: z.strictObject({ data: z.array(auditEntry), meta: listMeta }),
  errors: ['invalid_cursor'],
  async handler({ query, requestId }, { identity }) {
    const { actor = '', action = '', target = '' } = query;
    const { entries, page } = await identity.listAuditEntries({ page: pageRequest(query), actor, action, target, ...toRange(query) });
    return { data: entries.map(toAuditEntry), meta: toListMeta(page, requestId) };
  },
});
