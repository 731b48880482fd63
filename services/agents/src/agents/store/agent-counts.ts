import type { Parameters, Sql } from '@agent-service/store';
import type { Tenant } from '../../shared/tenant.ts';
import type { CountChange } from '../domain/counts.ts';

// Counters are taken in the order of their keys, so that of two changes one waits and none is refused. A counter that goes down is
// there already; what is proposed for it only has to be a number that could stand there.
const move = (table: string, key: string) => `
  with change as materialized (
    select ${key}, sum("by") as "by" from json_to_recordset($3::json) as item(category text, status text, "by" integer)
    group by ${key} having sum("by") <> 0)
  insert into ${table} as counted (organization_id, environment, ${key}, count)
  select $1, $2, ${key}, greatest("by", 0) from change order by ${key}
  on conflict (organization_id, environment, ${key}) do update
    set count = counted.count + (select change."by" from change where (${prefixed('change', key)}) = (${prefixed('excluded', key)}))`;

const prefixed = (name: string, key: string) => key.replaceAll(/\w+/g, (column) => `${name}.${column}`);

const moveStatuses = move('agent_counts', 'status');
const moveCategories = move('agent_category_counts', 'category, status');

// Categories come and go with their names.
const forgetEmpty = `
  delete from agent_category_counts where organization_id = $1 and environment = $2 and count = 0
    and (category, status) in (select category, status from json_to_recordset($3::json) as item(category text, status text))`;

/** Moves the counters in the transaction that moves the agents. */
export async function moveCounts(sql: Sql, { organizationId, environment }: Tenant, changes: readonly CountChange[]): Promise<void> {
  if (changes.length === 0) return;
  const values = [organizationId, environment, JSON.stringify(changes)];
  await sql(moveStatuses, values);
  await sql(moveCategories, values);
  if (changes.some((change) => change.by < 0)) await sql(forgetEmpty, values);
}

export interface CountFilter {
  readonly category: string | undefined;
  readonly status: string;
}

/** The total of a list as a part of its own statement: a sum over three counters at most. */
export function totalOf({ category, status }: CountFilter, tenant: string, { add }: Parameters): string {
  const where = [tenant];
  if (category !== undefined) where.push(`category = ${add(category)}`);
  if (status !== '') where.push(`status = ${add(status)}`);
  const table = category === undefined ? 'agent_counts' : 'agent_category_counts';
  return `(select coalesce(sum(count), 0)::bigint from ${table} where ${where.join(' and ')})`;
}
