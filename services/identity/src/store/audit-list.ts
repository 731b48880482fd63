import type { Page, Sql } from '@agent-service/store';

export interface AuditRow {
  id: string;
  environment: string;
  createdAt: string;
  actorType: string;
  actorId: string;
  actorKeyId: string;
  action: string;
  targetType: string;
  targetId: string;
  outcome: string;
  requestId: string;
  changesJson: string;
}

export interface AuditFilter {
  actor: string;
  action: string;
  target: string;
  dateFrom: string;
  /** Not included. */
  dateTo: string;
}

export const isFiltered = (filter: AuditFilter): boolean => Object.values(filter).some((value) => value !== '');

const columns = `id, environment, created_at as "createdAt", actor_type as "actorType", actor_id as "actorId", actor_key_id as "actorKeyId", action,
  target_type as "targetType", target_id as "targetId", outcome, request_id as "requestId", changes_json as "changesJson"`;

interface Statement {
  where: string;
  values: unknown[];
}

/** The conditions of one environment's range; the organization's own entries (environment '') make a second one. */
function conditions(organizationId: string, filter: AuditFilter, after: Page['after'] | undefined, firstValues: unknown[]): Statement {
  const values = [...firstValues, organizationId];
  const where = [`organization_id = $${values.length}`];
  const add = (text: (n: number) => string, ...added: unknown[]) => {
    where.push(text(values.length + 1));
    values.push(...added);
  };
  if (filter.actor) add((n) => `actor_id = $${n}`, filter.actor);
  if (filter.action) add((n) => `action = $${n}`, filter.action);
  if (filter.target) add((n) => `target_id = $${n}`, filter.target);
  if (filter.dateFrom) add((n) => `created_at >= $${n}::timestamptz`, filter.dateFrom);
  if (filter.dateTo) add((n) => `created_at < $${n}::timestamptz`, filter.dateTo);
  if (after) add((n) => `(created_at, id) < ($${n}::timestamptz, $${n + 1})`, ...after);
  return { where: where.join(' and '), values };
}

/**
 * Newest first: the entries of the environment and those of the organization as a whole. Each of the two is read by its
 * own index and only one page of it, so that the cost does not grow with a busy environment.
 */
export function listAudit(
  sql: Sql,
  organizationId: string,
  environment: string,
  filter: AuditFilter,
  after: Page['after'] | undefined,
  limit: number,
): Promise<AuditRow[]> {
  const { where, values } = conditions(organizationId, filter, after, [environment, limit + 1]);
  const range = (condition: string) =>
    `(select ${columns} from audit_entries where environment = ${condition} and ${where} order by created_at desc, id desc limit $2)`;
  return sql<AuditRow>(
    `select * from (${range('$1')} union all ${range("''")}) as entries order by "createdAt" desc, id desc limit $2`,
    values,
  );
}

/** Without filters from the chain's counters; with filters the matches are counted, once a list. */
export async function countAudit(sql: Sql, organizationId: string, environment: string, filter: AuditFilter): Promise<number> {
  if (!isFiltered(filter)) return countAll(sql, organizationId, environment);
  const { where, values } = conditions(organizationId, filter, undefined, [environment]);
  const [row] = await sql<{ total: string }>(
    `select count(*) as total from audit_entries where environment in ($1, '') and ${where}`,
    values,
  );
  return Number(row?.total ?? 0);
}

async function countAll(sql: Sql, organizationId: string, environment: string): Promise<number> {
  const [row] = await sql<{ counts: Record<string, number> }>('select counts from audit_chains where organization_id = $1', [
    organizationId,
  ]);
  return (row?.counts[environment] ?? 0) + (row?.counts[''] ?? 0);
}
