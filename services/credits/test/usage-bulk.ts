import type { Pool, PoolClient } from 'pg';
import { dayMs, dayOf, startOfDay } from '../src/domain/calendar.ts';

/** A synthetic history: each user uses some of the agents, evenly over the days. */
export interface BulkUsage {
  organizationId: string;
  records: number;
  users: number;
  agents: number;
  /** The number of agents that one user uses. */
  agentsOfUser: number;
  firstDay: string;
  days: number;
  querySummary: string;
}

const tiers = ['Fast', 'Smart', 'Expert', 'Premium'];

/** The monthly partitions of the history, each with the numbers of its records. */
function monthsOf({ records, firstDay, days }: BulkUsage): { from: string; until: string; first: number; last: number }[] {
  const start = startOfDay(firstDay);
  const step = (days * dayMs) / records;
  const months: { from: string; until: string; first: number; last: number }[] = [];
  for (let at = new Date(start); at.getTime() < start + days * dayMs; ) {
    const from = Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1);
    const until = Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1);
    const first = Math.max(0, Math.ceil((from - start) / step));
    const last = Math.min(records, Math.ceil((until - start) / step)) - 1;
    months.push({ from: dayOf(from), until: dayOf(until), first, last });
    at = new Date(until);
  }
  return months;
}

/** Mixes the number of a record, so that consecutive records differ in user, agent and tier. */
const mixed = (salt: number, count: number | string) => `(abs(hashint8(i # ${salt}::bigint)::bigint) % ${count})`;

const selectRecords = (bulk: BulkUsage, first: number, last: number) => `
  select '${bulk.organizationId}', 'live',
    date_trunc('milliseconds', timestamptz '${bulk.firstDay} 00:00:00Z' + i * (interval '1 day' * ${bulk.days} / ${bulk.records})) as at,
    'use_' || lpad(i::text, 26, '0'), 'msg_' || lpad(i::text, 26, '0'),
    'usr_' || lpad(user_number::text, 26, '0'), 'agt_' || lpad(agent_number::text, 26, '0'), 'Agent ' || agent_number,
    'conv_' || lpad((i / 5)::text, 26, '0'), (array['${tiers.join("', '")}'])[agent_number % 4 + 1], 1 + ${mixed(77_003, 5)},
    200, 100, '${bulk.querySummary}'
  from (
    select i, user_number, (user_number * 7 + ${mixed(40_127, bulk.agentsOfUser)} * 3) % ${bulk.agents} as agent_number
    from (select i, ${mixed(91_813, bulk.users)} as user_number from generate_series(${first}::bigint, ${last}::bigint) as i) as numbered
  ) as chosen`;

/** Fills a partition before it gets its indexes and is attached, which is several times faster. */
async function loadMonth(connection: PoolClient, bulk: BulkUsage, month: ReturnType<typeof monthsOf>[number]): Promise<void> {
  const name = `usage_records_${month.from.slice(0, 7).replace('-', '_')}`;
  const { rows } = await connection.query('select to_regclass($1) as existing', [name]);
  if (rows[0]?.existing) {
    await connection.query(`insert into usage_records ${selectRecords(bulk, month.first, month.last)}`);
    return;
  }
  await connection.query(`create table ${name} (like usage_records including defaults including constraints)`);
  await connection.query(`insert into ${name} ${selectRecords(bulk, month.first, month.last)}`);
  await connection.query(`alter table ${name} add primary key (organization_id, environment, at, id)`);
  await connection.query(`create index on ${name} (organization_id, environment, user_id, at, id)`);
  await connection.query(`create index on ${name} (organization_id, environment, agent_id, at, id)`);
  await connection.query(`alter table usage_records attach partition ${name} for values from ('${month.from}') to ('${month.until}')`);
}

const rollups: Readonly<Record<string, readonly string[]>> = {
  usage_by_tier: ['tier'],
  usage_by_user: ['user_id', 'tier'],
  usage_by_agent: ['agent_id', 'tier'],
  usage_by_user_agent: ['user_id', 'agent_id', 'tier'],
  usage_user_days: ['user_id'],
};

/** The tables with first and last days, and their other columns. */
const dayTables: Readonly<Record<string, { keys: readonly string[]; more: string; values: string }>> = {
  usage_users: { keys: ['user_id'], more: ', credits_total, queries_total', values: ', sum(credits), sum(queries)' },
  usage_user_agents: { keys: ['user_id', 'agent_id'], more: '', values: '' },
};

/** Inserts days in their order, as time does. */
const rollup = (organizationId: string, table: string, keys: readonly string[]) => `
  insert into ${table} (organization_id, environment, ${keys.join(', ')}, day, credits, queries, credits_total, queries_total)
  select '${organizationId}', 'live', ${keys.join(', ')}, day, sum(credits), sum(queries),
    sum(sum(credits)) over running, sum(sum(queries)) over running
  from finest group by ${keys.join(', ')}, day window running as (partition by ${keys.join(', ')} order by day)
  order by day, ${keys.join(', ')}`;

const unique = (organizationId: string, grain: string) => `
  insert into usage_unique_users (organization_id, environment, agent_id, grain, period, users)
  select '${organizationId}', 'live', agent_id, '${grain}', period, count(*)
  from (select distinct agent_id, user_id, date_trunc('${grain}', day)::date as period from finest) as used group by agent_id, period
  union all
  select '${organizationId}', 'live', '', '${grain}', period, count(*)
  from (select distinct user_id, date_trunc('${grain}', day)::date as period from finest) as used group by period`;

async function loadRollups(connection: PoolClient, { organizationId, firstDay, days }: BulkUsage): Promise<void> {
  const until = dayOf(startOfDay(firstDay) + days * dayMs);
  await connection.query(
    `create temporary table finest as
     select user_id, agent_id, tier, (at at time zone 'UTC')::date as day, sum(credits) as credits, count(*) as queries
     from usage_records where organization_id = '${organizationId}' and environment = 'live' and at >= '${firstDay}' and at < '${until}'
     group by user_id, agent_id, tier, 4`,
  );
  for (const [table, keys] of Object.entries(rollups)) {
    await connection.query(`alter table ${table} drop constraint ${table}_pkey`);
    await connection.query(rollup(organizationId, table, keys));
    await connection.query(`alter table ${table} add primary key (organization_id, environment, ${keys.join(', ')}, day)`);
  }
  for (const [table, { keys, more, values }] of Object.entries(dayTables)) {
    await connection.query(
      `insert into ${table} (organization_id, environment, ${keys.join(', ')}, first_day, last_day${more})
       select '${organizationId}', 'live', ${keys.join(', ')}, min(day), max(day)${values} from finest
       group by ${keys.join(', ')} order by min(day)`,
    );
  }
  await connection.query(
    `insert into usage_agents (organization_id, environment, agent_id, name, first_day, last_day)
     select '${organizationId}', 'live', agent_id, 'Agent ' || substring(agent_id from 5)::integer, min(day), max(day) from finest group by agent_id`,
  );
  for (const grain of ['day', 'week', 'month']) await connection.query(unique(organizationId, grain));
  await connection.query('drop table finest');
}

/** Loads a history into an empty tenant: the records, and the same rollups that settling them one by one makes. */
export async function loadBulk(pool: Pool, bulk: BulkUsage, atOnce = 2): Promise<void> {
  const waiting = monthsOf(bulk);
  const work = async () => {
    const connection = await pool.connect();
    try {
      await connection.query("set maintenance_work_mem = '512MB'; set work_mem = '256MB'; set timezone = 'UTC'");
      for (let month = waiting.shift(); month; month = waiting.shift()) await loadMonth(connection, bulk, month);
    } finally {
      connection.release();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  const connection = await pool.connect();
  try {
    await connection.query("set work_mem = '512MB'; set maintenance_work_mem = '512MB'");
    await loadRollups(connection, bulk);
  } finally {
    connection.release(true);
  }
}
