import { type Page, type Parameters, parameters, type Sql } from '@agent-service/store';
import type { Tenant } from '../../shared/tenant.ts';
import type { AgentSummary } from '../domain/agent.ts';
import { fold, gramsNeeded } from '../domain/search.ts';
import { totalOf } from './agent-counts.ts';

export interface AgentFilter {
  readonly tenant: Tenant;
  /** Undefined: any; empty: those without one. */
  readonly category: string | undefined;
  readonly status: string;
  readonly search: string;
}

export type SummaryRow = Omit<AgentSummary, 'createdAt' | 'updatedAt'> & { readonly createdAt: string; readonly updatedAt: string };

export interface Listed<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** As many matches as this are met soon on the way through the whole list. */
const manyMatches = 1_000;

const columns = `id, name, description, category, status, model, created_at as "createdAt", updated_at as "updatedAt"`;
const newestFirst = 'order by created_at desc, id desc limit';

/** Newest first; one row more than asked for tells that there is a further page. */
export function listAgents(sql: Sql, filter: AgentFilter, limit: number, start?: Page): Promise<Listed<SummaryRow>> {
  if (filter.search === '') return walk(sql, filter, limit, start, []);
  const total = start?.total ?? 0;
  return total < manyMatches ? look(sql, filter, limit, start) : walk(sql, filter, limit, start, [fold(filter.search)]);
}

/** Along an index in the list's own order: a page costs the same wherever it is. A search's total was counted before. */
async function walk(sql: Sql, filter: AgentFilter, limit: number, start: Page | undefined, needles: string[]): Promise<Listed<SummaryRow>> {
  const given = parameters();
  const [organization, environment] = [given.add(filter.tenant.organizationId), given.add(filter.tenant.environment)];
  const tenant = `organization_id = ${organization} and environment = ${environment}`;
  const total = start?.total === undefined ? totalOf(filter, tenant, given) : `${given.add(start.total)}::bigint`;
  // As the indexes of the lists have it, and the key has not.
  const listed = `organization_id collate "C" = ${organization} and environment = ${environment}`;
  const where = [listed, ...needles.map((needle) => contains(needle, given))];
  if (filter.category !== undefined) where.push(`category = ${given.add(filter.category)}`);
  if (filter.status !== '') where.push(`status = ${given.add(filter.status)}`);
  if (start) where.push(behind(start, given));
  const page = `select ${columns} from agents where ${where.join(' and ')} ${newestFirst} ${given.add(limit + 1)}::integer`;
  return await read(sql, total, page, given);
}

/**
 * From the search's index. Whose agent it is, its category and its status are told in a way that no other index answers, so that
 * the plan is this one whatever the planner believes: with few matches among many agents another would go through them all.
 */
async function look(sql: Sql, filter: AgentFilter, limit: number, start: Page | undefined): Promise<Listed<SummaryRow>> {
  const given = parameters();
  const { tenant, category, status, search } = filter;
  const needle = fold(search);
  const [organization, environment] = [given.add(tenant.organizationId), given.add(tenant.environment)];
  const where = [
    `grams @> ${given.add(gramsNeeded(tenant, needle))}::integer[]`,
    `(organization_id, environment) is not distinct from (${organization}, ${environment})`,
    contains(needle, given),
  ];
  if (category !== undefined) where.push(`category is not distinct from ${given.add(category)}`);
  if (status !== '') where.push(`status is not distinct from ${given.add(status)}`);
  const matches = `matches as materialized (select id, created_at from agents where ${where.join(' and ')})`;
  const total = start?.total === undefined ? '(select count(*) from matches)' : `${given.add(start.total)}::bigint`;
  const ids = `select id from matches ${start ? `where ${behind(start, given)}` : ''} ${newestFirst} ${given.add(limit + 1)}::integer`;
  const page = `select ${columns} from agents
    where organization_id = ${organization} and environment = ${environment} and id = any(array(${ids}))`;
  return await read(sql, total, page, given, `with ${matches}`);
}

function contains(needle: string, { add }: Parameters): string {
  const place = `${add(needle)}::text`;
  return `(position(${place} in folded_name) > 0 or position(${place} in folded_description) > 0)`;
}

const behind = ({ after: [at, id] }: Page, { add }: Parameters) => `(created_at, id) < (${add(at)}::timestamptz, ${add(id)}::text)`;

/** Total and page in one statement and one snapshot; the total is there when the page is empty. */
async function read(sql: Sql, total: string, page: string, { values }: Parameters, before = ''): Promise<Listed<SummaryRow>> {
  const rows = await sql<Partial<SummaryRow> & { total: string }>(
    `${before} select counted.total, page.* from (select ${total} as total) as counted left join (${page}) as page on true
     order by page."createdAt" desc, page.id desc`,
    values,
  );
  const found = rows.filter((row) => row.id !== null);
  return { rows: found.map(({ total: _, ...row }) => row as SummaryRow), total: Number(rows[0]?.total) };
}
