import { idempotencyTable, migration, outboxTable } from '@agent-service/store';

// One row for each tenant. Every change of a tenant's rows locks it or checks its stamp, which orders the changes.
const ledgers = `
  create table ledgers (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    unallocated bigint not null default 0 check (unallocated >= 0),
    allocated bigint not null default 0 check (allocated >= 0),
    spent bigint not null default 0 check (spent >= 0),
    issued bigint not null default 0 check (issued >= 0),
    last_purchase bigint not null default 0,
    auto_replenish boolean not null,
    replenish_threshold integer not null check (replenish_threshold >= 0),
    replenish_amount integer not null check (replenish_amount > 0),
    low_balance_threshold integer check (low_balance_threshold >= 0),
    default_monthly_limit integer not null check (default_monthly_limit >= 0),
    updated_at timestamptz(3) not null,
    primary key (organization_id, environment),
    constraint ledgers_balanced check (issued = unallocated + allocated + spent)
  ) with (fillfactor = 50);
`;

// month counts from year 0; the sweep that starts months and verifications read its index. Free space keeps updated rows on their page.
const userAccounts = `
  create table user_accounts (
    organization_id text not null,
    environment text not null,
    user_id text not null,
    balance bigint not null check (balance >= 0),
    held bigint not null check (held >= 0),
    monthly_limit integer not null check (monthly_limit >= 0),
    carried integer not null check (carried >= 0),
    used bigint not null check (used >= 0),
    rollover boolean not null,
    month integer not null,
    effective_from timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    primary key (organization_id, environment, user_id),
    foreign key (organization_id, environment) references ledgers (organization_id, environment),
    constraint user_accounts_carried_within_limit check (carried <= monthly_limit),
    constraint user_accounts_balance_within_limit check (balance <= greatest(0, monthly_limit + carried - used - held))
  ) with (fillfactor = 70);
  create index user_accounts_month_index on user_accounts (month, organization_id, environment, user_id);
`;

// An ended hold keeps its outcome; refused and void ones never held credits. The list of overdue holds goes by the deadline of open ones,
// the sweep by the age of ended ones. Most holds are written twice, so the indexes are as small as they can be.
const holds = `
  create table holds (
    organization_id text not null,
    environment text not null,
    id text not null,
    user_id text not null,
    amount integer not null check (amount >= 0),
    deadline timestamptz(3) not null,
    state text not null check (state in ('open', 'settled', 'released', 'refused', 'void')),
    charge integer not null check (charge >= 0),
    settled_as bigint,
    refusal jsonb,
    created_at timestamptz(3) not null,
    ended_at timestamptz(3),
    primary key (organization_id, environment, id),
    constraint holds_charge_within_amount check (charge <= amount),
    constraint holds_end_with_state check ((state = 'open') = (ended_at is null)),
    constraint holds_charged_when_settled check (charge = 0 or state = 'settled')
  );
  create index holds_open_index on holds (deadline) where ended_at is null;
  create index holds_ended_index on holds (ended_at) where ended_at is not null;
`;

// The results of grants, allocations and changes of settings, refusals included.
const operations = `
  create table operations (
    organization_id text not null,
    environment text not null,
    id text not null,
    fingerprint bigint not null,
    result jsonb not null,
    at timestamptz(3) not null,
    primary key (organization_id, environment, id)
  );
  create index operations_at_index on operations (at) where result ->> 'kind' is distinct from 'grant';
`;

// purchase, replenish: outside -> pool; fill: pool -> user; return: user -> pool; hold: user -> holds; release: holds -> user;
// charge: holds -> spent. Transfers are append-only: the trigger refuses changes also for the service's own role.
const transfers = `
  create table transfers (
    organization_id text not null,
    environment text not null,
    id text not null,
    code text not null check (code in ('purchase', 'replenish', 'fill', 'return', 'hold', 'release', 'charge')),
    user_id text,
    amount bigint not null check (amount > 0),
    at timestamptz(3) not null,
    primary key (organization_id, environment, id),
    constraint transfers_name_their_user check ((user_id is null) = (code in ('purchase', 'replenish')))
  );
  create function refuse_change() returns trigger language plpgsql as $$
  begin
    raise exception '% are append-only', tg_table_name;
  end $$;
  create trigger transfers_append_only before update or delete or truncate on transfers for each statement execute function refuse_change();
`;

// A partition for each month, created in advance by a sweep and before a batch that may need it. The row of the hold, not this one,
// prevents a second charge.
const usageRecords = `
  create table usage_records (
    organization_id text not null,
    environment text not null,
    at timestamptz(3) not null,
    id text not null,
    hold_id text not null,
    user_id text not null,
    agent_id text not null,
    agent_name text not null,
    conversation_id text not null,
    tier text not null,
    credits integer not null check (credits >= 0),
    input_tokens integer not null check (input_tokens >= 0),
    output_tokens integer not null check (output_tokens >= 0),
    query_summary text not null,
    primary key (organization_id, environment, at, id)
  ) partition by range (at);
  create index usage_records_user_index on usage_records (organization_id, environment, user_id, at, id);
  create index usage_records_agent_index on usage_records (organization_id, environment, agent_id, at, id);
`;

/**
 * A rollup has the sums of a day and the running totals up to and including it. The time of a tenant never runs backwards, so a total is
 * final once the next day has begun, and the sum of a range is the difference of two rows. usage_user_days serves to rank all users: it has
 * a quarter of the rows.
 */
const rollup = (name: string, ...keys: string[]) => `
  create table ${name} (
    organization_id text not null,
    environment text not null,
    ${keys.map((key) => `${key} text not null,`).join(' ')}
    day date not null,
    credits bigint not null check (credits >= 0),
    queries bigint not null check (queries > 0),
    credits_total bigint not null,
    queries_total bigint not null,
    primary key (${['organization_id', 'environment', ...keys, 'day'].join(', ')}),
    check (credits_total >= credits and queries_total >= queries)
  ) with (fillfactor = 80);
`;

// The first and last days of usage. A user whose last day is before the current day, week or month is new in it, and usage_unique_users
// counts the user: agent_id '' stands for all agents, period is the first day of the grain. The latest totals of a user spare a look-up.
const uniques = `
  create table usage_users (
    organization_id text not null,
    environment text not null,
    user_id text not null,
    first_day date not null,
    last_day date not null,
    credits_total bigint not null,
    queries_total bigint not null,
    primary key (organization_id, environment, user_id)
  ) with (fillfactor = 70);
  create table usage_agents (
    organization_id text not null,
    environment text not null,
    agent_id text not null,
    name text not null,
    first_day date not null,
    last_day date not null,
    primary key (organization_id, environment, agent_id)
  );
  create table usage_user_agents (
    organization_id text not null,
    environment text not null,
    user_id text not null,
    agent_id text not null,
    first_day date not null,
    last_day date not null,
    primary key (organization_id, environment, user_id, agent_id)
  );
  create index usage_user_agents_agent_index on usage_user_agents (organization_id, environment, agent_id, user_id);
  create table usage_unique_users (
    organization_id text not null,
    environment text not null,
    agent_id text not null,
    grain text not null check (grain in ('day', 'week', 'month')),
    period date not null,
    users bigint not null check (users > 0),
    primary key (organization_id, environment, agent_id, grain, period)
  );
`;

export const ledger = migration(
  '0001-ledger',
  ledgers,
  userAccounts,
  holds,
  operations,
  transfers,
  usageRecords,
  rollup('usage_by_tier', 'tier'),
  rollup('usage_by_user', 'user_id', 'tier'),
  rollup('usage_by_agent', 'agent_id', 'tier'),
  rollup('usage_by_user_agent', 'user_id', 'agent_id', 'tier'),
  rollup('usage_user_days', 'user_id'),
  uniques,
  idempotencyTable,
  outboxTable,
);
