import { type AuditPayload, type Page, type Parameters, parameters, type Sql } from '@agent-service/store';

/** An entry of the list, whose reader's organization is known. */
export type AuditRow = Omit<AuditPayload, 'organizationId'>;

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

/** The conditions of one environment's range; the organization's own entries (environment '') make a second one. */
function conditions(organizationId: string, filter: AuditFilter, after: Page['after'] | undefined, { add }: Parameters): string {
  const where = [`organization_id = ${add(organizationId)}`];
  if (filter.actor) where.push(`actor_id = ${add(filter.actor)}`);
  if (filter.action) where.push(`action = ${add(filter.action)}`);
  if (filter.target) where.push(`target_id = ${add(filter.target)}`);
  if (filter.dateFrom) where.push(`created_at >= ${add(filter.dateFrom)}::timestamptz`);
  if (filter.dateTo) where.push(`created_at < ${add(filter.dateTo)}::timestamptz`);
  if (after) where.push(`(created_at, id) < (${add(after[0])}::timestamptz, ${add(after[1])})`);
  return where.join(' and ');
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
  const query = parameters();
  const [own, rows] = [query.add(environment), query.add(limit + 1)];
  const where = conditions(organizationId, filter, after, query);
  const range = (condition: string) =>
    `(select ${columns} from audit_entries where environment = ${condition} and ${where} order by created_at desc, id desc limit ${rows})`;
  return sql<AuditRow>(
    `select * from (${range(own)} union all ${range("''")}) as entries order by "createdAt" desc, id desc limit ${rows}`,
    query.values,
  );
}

/** Without filters from the chain's counters; with filters the matches are counted, once for all pages of a list. */
export async function countAudit(sql: Sql, organizationId: string, environment: string, filter: AuditFilter): Promise<number> {
  if (!isFiltered(filter)) return countAll(sql, organizationId, environment);
  const query = parameters();
  const environments = `(${query.add(environment)}, '')`;
  const where = conditions(organizationId, filter, undefined, query);
  const [row] = await sql<{ total: string }>(
    `select count(*) as total from audit_entries where environment in ${environments} and ${where}`,
    query.values,
  );
  return Number(row?.total ?? 0);
}

async function countAll(sql: Sql, organizationId: string, environment: string): Promise<number> {
  const [row] = await sql<{ counts: Record<string, number> }>('select counts from audit_chains where organization_id = $1', [
    organizationId,
  ]);
  return (row?.counts[environment] ?? 0) + (row?.counts[''] ?? 0);
}
