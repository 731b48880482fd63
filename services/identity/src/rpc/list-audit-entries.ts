import { callers, type RpcOf } from '@agent-service/contracts';
import { boundChangesJson, isoTime } from '@agent-service/store';
import type { IdentityContext } from '../context.ts';
import { type AuditFilter, type AuditRow, countAudit, isFiltered, listAudit } from '../store/audit-list.ts';
import { createOrganizationLimiter } from './organization-limiter.ts';

/** A read with filters may look at every entry of an organization: at most two of the connections are busy with such reads. */
const filteredLimits = { atOnce: 2, waiting: 20 };

export const listAuditEntries = ({ store, cursors }: IdentityContext): RpcOf<'identity', 'listAuditEntries'> => {
  const filteredReads = createOrganizationLimiter(filteredLimits);
  return {
    allow: callers({ scope: 'audit:read' }),
    async handle({ page, actor, action, target, dateFrom, dateTo }, call) {
      const { organizationId, environment } = call.tenant;
      const limit = page?.limit || 50;
      const filter = { actor, action, target, dateFrom, dateTo };
      const binding = ['audit', organizationId, environment, filter];
      const start = cursors.decode(binding, page?.cursor ?? '');
      const read = async () => ({
        rows: await listAudit(store.sql, organizationId, environment, filter, start?.after, limit),
        total: await totalOf(start?.total, filter, () => countAudit(store.sql, organizationId, environment, filter)),
      });
      const { rows, total } = await (isFiltered(filter) ? filteredReads.run(organizationId, read, call.signal) : read());
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id], total }) : '';
      return { entries: rows.slice(0, limit).map((row) => toEntry(organizationId, row)), page: { total, nextCursor } };
    },
  };
};

/** What a filter matches is counted on the first page and travels along; the whole is read from its counter each time. */
const totalOf = async (counted: number | undefined, filter: AuditFilter, count: () => Promise<number>): Promise<number> =>
  counted !== undefined && isFiltered(filter) ? counted : count();

const toEntry = (organizationId: string, row: AuditRow) => ({
  id: row.id,
  createdAt: isoTime(row.createdAt),
  actor: { type: row.actorType, id: row.actorId, keyId: row.actorKeyId },
  action: row.action,
  target: { type: row.targetType, id: row.targetId },
  outcome: row.outcome,
  requestId: row.requestId,
  // Versions before stored changes of any size.
  changesJson: boundChangesJson(row.changesJson),
  organizationId,
  environment: row.environment,
});
