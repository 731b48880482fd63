import type { Tenant } from '@agent-service/contracts';
import type { RecordRange } from '../src/domain/usage.ts';
import type { UsageRequest } from './usage-histories.ts';
import { query } from './verification.ts';

export interface Counted {
  key: string;
  credits: number;
  queries: number;
  users: number;
  agents: number;
  breakdown: Record<string, number>;
  last: string;
}

const keys: Readonly<Record<UsageRequest['groupBy'], string>> = {
  '': 'id',
  day: "date_trunc('day', at)::date::text",
  week: "date_trunc('week', at)::date::text",
  month: "date_trunc('month', at)::date::text",
  user: 'user_id',
  agent: 'agent_id',
};

const matching = `organization_id = $1 and environment = $2 and ($3 = '' or user_id = $3) and ($4 = '' or agent_id = $4)
  and at >= coalesce($5::timestamptz, '-infinity') and at < coalesce($6::timestamptz, 'infinity')`;

const isoTime = (at: number | null) => (at === null ? null : new Date(at).toISOString());

const valuesOf = (
  tenant: Tenant,
  { userId, agentId }: Pick<UsageRequest, 'userId' | 'agentId'>,
  { from, before }: Pick<RecordRange, 'from' | 'before'>,
) => [tenant.organizationId, tenant.environment, userId, agentId, isoTime(from), isoTime(before)];

/** The expected groups, by plain SQL over the records, in the order that callers see. */
export function groupRecords(url: string, tenant: Tenant, request: UsageRequest, range: Pick<RecordRange, 'from' | 'before'>) {
  const order = request.groupBy === 'user' || request.groupBy === 'agent' ? 'credits desc, key' : 'key';
  return query<Counted>(
    url,
    `with matching as (select *, ${keys[request.groupBy]} as key from usage_records where ${matching}),
     tiers as (select key, tier, sum(credits)::int as credits from matching group by key, tier),
     breakdowns as (select key, jsonb_object_agg(tier, credits) as breakdown from tiers group by key)
     select key, sum(credits)::int as credits, count(*)::int as queries, count(distinct user_id)::int as users,
       count(distinct agent_id)::int as agents, breakdown, to_char(max(at), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as last
     from matching join breakdowns using (key) group by key, breakdown order by ${order}`,
    valuesOf(tenant, request, range),
  );
}

/** The expected records, newest first. */
export function selectRecords(url: string, tenant: Tenant, request: UsageRequest, range: Pick<RecordRange, 'from' | 'before'>) {
  return query<Record<string, string>>(
    url,
    `select id, user_id as "userId", agent_id as "agentId", conversation_id as "conversationId", credits as "creditsConsumed",
       tier as model, query_summary as "querySummary", to_char(at, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as timestamp
     from usage_records where ${matching} order by at desc, id desc`,
    valuesOf(tenant, request, range),
  );
}

/** The names of agents in their last use. */
export async function namesByRecords(url: string, tenant: Tenant): Promise<Map<string, string>> {
  const rows = await query<{ agent_id: string; agent_name: string }>(
    url,
    `select distinct on (agent_id) agent_id, agent_name from usage_records where organization_id = $1 and environment = $2
     order by agent_id, at desc, id desc`,
    [tenant.organizationId, tenant.environment],
  );
  return new Map(rows.map(({ agent_id: id, agent_name: name }) => [id, name]));
}
