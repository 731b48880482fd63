import type { Tenant } from '@agent-service/contracts';
import { foldCase } from '@agent-service/contracts/strings';
import { type Page, type Parameters, parameters, type Sql } from '@agent-service/store';
import { type AgentSummary, gramsNeeded } from '../domain/agent.ts';
import { isCounted, totalOf } from './agents.ts';

export interface AgentFilter {
  readonly tenant: Tenant;
  /** Undefined: any; empty: agents without a category. */
  readonly category: string | undefined;
  readonly status: string;
  readonly search: string;
}

export type SummaryRow = Omit<AgentSummary, 'createdAt' | 'updatedAt'> & { readonly createdAt: string; readonly updatedAt: string };

export interface AgentPage<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** A search with this many matches fills a page soon in the list's own order. */
const manyMatches = 1_000;

const columns = `id, name, description, category, status, model, created_at as "createdAt", updated_at as "updatedAt"`;
const newestFirst = 'order by created_at desc, id desc limit';

/** A search, or a list of a category without a counter: it may read every agent of the organization. */
export const readsMatches = ({ category, search }: AgentFilter): boolean => search !== '' || !isCounted(category ?? '');

/** Newest first, with one row more than the limit where there is another page. */
export function selectAgents(sql: Sql, filter: AgentFilter, limit: number, start?: Page): Promise<AgentPage<SummaryRow>> {
  if (filter.search === '') return readInOrder(sql, filter, limit, start, []);
  const total = start?.total ?? 0;
  return total < manyMatches
    ? readFromSearchIndex(sql, filter, limit, start)
    : readInOrder(sql, filter, limit, start, [foldCase(filter.search)]);
}

/** Reads an index in the list's own order, so that each page costs the same. An earlier page has counted the total of a search. */
async function readInOrder(
  sql: Sql,
  filter: AgentFilter,
  limit: number,
  start: Page | undefined,
  needles: string[],
): Promise<AgentPage<SummaryRow>> {
  const query = parameters();
  const [organization, environment] = [query.add(filter.tenant.organizationId), query.add(filter.tenant.environment)];
  const tenant = `organization_id = ${organization} and environment = ${environment}`;
  const where = inList(filter, [organization, environment], query);
  const total = start?.total === undefined ? totalInList(filter, tenant, where, query) : `${query.add(start.total)}::bigint`;
  where.push(...needles.map((needle) => contains(needle, query)));
  if (start) where.push(isAfter(start, query));
  const page = `select ${columns} from agents where ${where.join(' and ')} ${newestFirst} ${query.add(limit + 1)}::integer`;
  return await read(sql, total, page, query);
}

const hashOf = (organization: string, environment: string, category: string): string =>
  `hashtextextended(${organization} || ' ' || ${environment} || ' ' || ${category}, 0)`;

/**
 * The conditions of a list, written so that its own index serves them and no other index does. A category may be longer than what an
 * index stores, so its indexes have a hash.
 */
function inList({ category, status }: AgentFilter, [organization, environment]: readonly [string, string], { add }: Parameters): string[] {
  if (category === undefined) {
    const listed = `organization_id collate "C" = ${organization} and environment = ${environment}`;
    return status === '' ? [listed] : [listed, `status = ${add(status)}`];
  }
  const values = [`${organization}::text`, `${environment}::text`, `${add(category)}::text`] as const;
  return [
    `${hashOf('organization_id', 'environment', 'category')} = ${hashOf(...values)}`,
    `(organization_id, environment, category) is not distinct from (${values.join(', ')})`,
    ...(status === '' ? [] : [`status collate "C" = ${add(status)}`]),
  ];
}

/** Reads the counters, and counts the agents themselves where their category has none. */
const totalInList = (filter: AgentFilter, tenant: string, where: readonly string[], query: Parameters): string =>
  isCounted(filter.category ?? '') ? totalOf(filter, tenant, query) : `(select count(*) from agents where ${where.join(' and ')})`;

/**
 * Reads the search index. The other conditions are written so that no other index serves them: with few matches among many agents the
 * planner might otherwise choose an index that reads all agents of the tenant.
 */
async function readFromSearchIndex(sql: Sql, filter: AgentFilter, limit: number, start: Page | undefined): Promise<AgentPage<SummaryRow>> {
  const query = parameters();
  const { tenant, category, status, search } = filter;
  const needle = foldCase(search);
  const [organization, environment] = [query.add(tenant.organizationId), query.add(tenant.environment)];
  const where = [
    `grams @> ${query.add(gramsNeeded(tenant, needle))}::integer[]`,
    `(organization_id, environment) is not distinct from (${organization}, ${environment})`,
    contains(needle, query),
  ];
  if (category !== undefined) where.push(`category is not distinct from ${query.add(category)}`);
  if (status !== '') where.push(`status is not distinct from ${query.add(status)}`);
  const matches = `matches as materialized (select id, created_at from agents where ${where.join(' and ')})`;
  const ids = `select id from matches ${start ? `where ${isAfter(start, query)}` : ''} ${newestFirst} ${query.add(limit + 1)}::integer`;
  const page = `select ${columns} from agents
    where organization_id = ${organization} and environment = ${environment} and id = any(array(${ids}))`;
  return await read(sql, '(select count(*) from matches)', page, query, `with ${matches}`);
}

function contains(needle: string, { add }: Parameters): string {
  const text = `${add(needle)}::text`;
  return `(position(${text} in folded_name) > 0 or position(${text} in folded_description) > 0)`;
}

const isAfter = ({ after: [at, id] }: Page, { add }: Parameters) => `(created_at, id) < (${add(at)}::timestamptz, ${add(id)}::text)`;

/** Total and page in one snapshot; an empty page has its total as well. */
async function read(sql: Sql, total: string, page: string, { values }: Parameters, before = ''): Promise<AgentPage<SummaryRow>> {
  const rows = await sql<Partial<SummaryRow> & { total: string }>(
    `${before} select counted.total, page.* from (select ${total} as total) as counted left join (${page}) as page on true
     order by page."createdAt" desc, page.id desc`,
    values,
  );
  const agents = rows.filter((row) => row.id !== null);
  return { rows: agents.map(({ total: _, ...row }) => row as SummaryRow), total: Number(rows[0]?.total) };
}
