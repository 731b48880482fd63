import { newId } from '@agent-service/contracts';
import { dayOf } from '../domain/calendar.ts';
import type { UsageRecord } from '../domain/state.ts';
import type { Part, PartKind, Slot } from './parts.ts';

/** The records of a batch, as every part of the statement below sees them. */
const used = (slot: Slot) => `used as (
    select used.*
    from guard, unnest(${[3, 4, 5, 6, 7, 8, 9].map((n) => `${slot(n)}::text[]`).join(', ')}, ${slot(10)}::integer[], ${slot(11)}::integer[],
      ${slot(12)}::integer[], ${slot(13)}::text[])
      as used(id, hold_id, user_id, agent_id, agent_name, conversation_id, tier, credits, input_tokens, output_tokens, query_summary)
  )`;

const records = (slot: Slot) => `records as (
    insert into usage_records (organization_id, environment, at, id, hold_id, user_id, agent_id, agent_name, conversation_id, tier,
      credits, input_tokens, output_tokens, query_summary)
    select $1, $2, to_timestamp(${slot(2)}::float8 / 1000), id, hold_id, user_id, agent_id, agent_name, conversation_id, tier,
      credits, input_tokens, output_tokens, query_summary
    from used
  )`;

/** Adds to the day's row of each key, or makes it from where the running totals of the day before ended. */
function rollup(table: string, ...columns: string[]): (slot: Slot) => string {
  const sameKey = columns.map((column) => `earlier.${column} = today.${column}`).join(' and ');
  return (slot) => `${table} as (
    insert into ${table} as kept (organization_id, environment, ${columns.join(', ')}, day, credits, queries, credits_total, queries_total)
    select $1, $2, ${columns.map((column) => `today.${column}`).join(', ')}, ${slot(1)}::date, today.credits, today.queries,
      today.credits + coalesce(before.credits_total, 0), today.queries + coalesce(before.queries_total, 0)
    from (select ${columns.join(', ')}, sum(credits) as credits, count(*) as queries from used group by ${columns.join(', ')}) as today
    left join lateral (
      select credits_total, queries_total from ${table} as earlier
      where organization_id = $1 and environment = $2 and ${sameKey} and day < ${slot(1)}::date order by day desc limit 1
    ) as before on true
    on conflict (organization_id, environment, ${columns.join(', ')}, day) do update set
      credits = kept.credits + excluded.credits, queries = kept.queries + excluded.queries,
      credits_total = kept.credits_total + excluded.credits, queries_total = kept.queries_total + excluded.queries
  )`;
}

const rollups = [
  rollup('usage_by_tier', 'tier'),
  rollup('usage_by_user', 'user_id', 'tier'),
  rollup('usage_by_agent', 'agent_id', 'tier'),
  rollup('usage_by_user_agent', 'user_id', 'agent_id', 'tier'),
  rollup('usage_user_days', 'user_id'),
];

/** Who is seen for the first time this day, with the day they were seen last; '' is all agents together. */
const newcomers = (slot: Slot) => `newcomers as (
    select '' as agent_id, today.user_id, known.last_day
    from (select distinct user_id from used) as today
    left join usage_users as known on known.organization_id = $1 and known.environment = $2 and known.user_id = today.user_id
    where known.last_day is distinct from ${slot(1)}::date
    union all
    select today.agent_id, today.user_id, known.last_day
    from (select distinct user_id, agent_id from used) as today
    left join usage_user_agents as known on known.organization_id = $1 and known.environment = $2
      and known.user_id = today.user_id and known.agent_id = today.agent_id
    where known.last_day is distinct from ${slot(1)}::date
  ), counted as (
    insert into usage_unique_users as kept (organization_id, environment, agent_id, grain, period, users)
    select $1, $2, agent_id, grain, date_trunc(grain, ${slot(1)}::timestamp)::date, count(*)
    from newcomers, unnest(array['day', 'week', 'month']) as grain
    where last_day is null or last_day < date_trunc(grain, ${slot(1)}::timestamp)
    group by agent_id, grain
    on conflict (organization_id, environment, agent_id, grain, period) do update set users = kept.users + excluded.users
  ), users_seen as (
    insert into usage_users as kept (organization_id, environment, user_id, first_day, last_day, credits_total, queries_total)
    select $1, $2, user_id, ${slot(1)}::date, ${slot(1)}::date, sum(credits), count(*) from used group by user_id
    on conflict (organization_id, environment, user_id) do update set last_day = excluded.last_day,
      credits_total = kept.credits_total + excluded.credits_total, queries_total = kept.queries_total + excluded.queries_total
  ), pairs_seen as (
    insert into usage_user_agents as kept (organization_id, environment, user_id, agent_id, first_day, last_day)
    select $1, $2, user_id, agent_id, ${slot(1)}::date, ${slot(1)}::date from newcomers where agent_id <> ''
    on conflict (organization_id, environment, user_id, agent_id) do update set last_day = excluded.last_day
  )`;

const agents = (slot: Slot) => `agents_seen as (
    insert into usage_agents as kept (organization_id, environment, agent_id, name, first_day, last_day)
    select distinct on (agent_id) $1, $2, agent_id, agent_name, ${slot(1)}::date, ${slot(1)}::date from used order by agent_id, id desc
    on conflict (organization_id, environment, agent_id) do update set name = excluded.name, last_day = excluded.last_day
    where (kept.name, kept.last_day) <> (excluded.name, excluded.last_day)
  )`;

const all = [used, records, ...rollups, newcomers, agents];

const usageKind: PartKind = { name: 'used', size: 13, text: (slot) => all.map((text) => text(slot)).join(', ') };

/** Records with everything that is counted from them, in the statement that charges. A batch happens at one instant. */
export function usageOf(usage: readonly UsageRecord[]): Part {
  const at = usage[0]?.at ?? 0;
  return {
    kind: usageKind,
    values: [
      dayOf(at),
      at,
      usage.map(() => newId('use')),
      usage.map(({ holdId }) => holdId),
      usage.map(({ userId }) => userId),
      usage.map(({ agentId }) => agentId),
      usage.map(({ agentName }) => agentName),
      usage.map(({ conversationId }) => conversationId),
      usage.map(({ tier }) => tier),
      usage.map(({ credits }) => credits),
      usage.map(({ inputTokens }) => inputTokens),
      usage.map(({ outputTokens }) => outputTokens),
      usage.map(({ querySummary }) => querySummary),
    ],
  };
}
