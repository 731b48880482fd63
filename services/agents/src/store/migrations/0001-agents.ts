import { idempotencyTable, migration, outboxTable } from '@agent-service/store';

// Only the search reads folded_* and grams (domain/agent.ts). Each filter of a list has an index with the filter's columns before the order,
// so that every page costs the same. These indexes have another collation than the key, so that the planner uses neither in place of
// the other, although it plans while the table is small and keeps the plan.
const agentsTable = `
  create table agents (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    id text not null,
    name text not null,
    description text not null,
    category text not null,
    status text not null check (status in ('draft', 'active', 'inactive')),
    model text not null check (model in ('Fast', 'Smart', 'Expert', 'Premium')),
    system_prompt text not null,
    tables text[] not null,
    read_only boolean not null,
    default_format text not null,
    chart_enabled boolean not null,
    welcome_message text not null,
    suggested_prompts text[] not null,
    created_by text not null,
    source_template_id text not null default '',
    version integer not null check (version > 0),
    created_at timestamptz(3) not null,
    updated_at timestamptz(3) not null,
    folded_name text not null,
    folded_description text not null,
    grams integer[] not null,
    primary key (organization_id, environment, id)
  );
  create index agents_listed_index on agents (organization_id collate "C", environment, created_at desc, id desc);
  create index agents_status_index on agents (organization_id collate "C", environment, status, created_at desc, id desc);
  create index agents_category_index on agents (organization_id collate "C", environment, category, created_at desc, id desc);
  create index agents_category_status_index on agents (organization_id collate "C", environment, category, status, created_at desc, id desc);
`;

// Without the list of pending entries, which every search would have to read through. Grams carry their tenant (`gramsOf`).
const searchIndex = `
  create index agents_grams_index on agents using gin (grams) with (fastupdate = off);
`;

// The totals of lists. All agents of a status are one row, so that no total is a sum over categories.
const counters = `
  create table agent_counts (
    organization_id text not null,
    environment text not null,
    status text not null,
    count bigint not null check (count >= 0),
    primary key (organization_id, environment, status)
  ) with (fillfactor = 50);
  create table agent_category_counts (
    organization_id text not null,
    environment text not null,
    category text not null,
    status text not null,
    count bigint not null check (count >= 0),
    primary key (organization_id, environment, category, status)
  ) with (fillfactor = 70);
  create table conversation_counts (
    organization_id text not null,
    environment text not null,
    agent_id text not null,
    user_id text not null,
    count bigint not null check (count >= 0),
    primary key (organization_id, environment, agent_id, user_id)
  ) with (fillfactor = 70);
`;

// Agents that are gone for callers while their conversations and messages are still being removed.
const deletedAgents = `
  create table deleted_agents (
    organization_id text not null,
    environment text not null,
    id text not null,
    deleted_at timestamptz(3) not null,
    primary key (organization_id, environment, id)
  );
  create index deleted_agents_deleted_at_index on deleted_agents (deleted_at);
`;

export const agents = migration('0001-agents', agentsTable, searchIndex, counters, deletedAgents, idempotencyTable, outboxTable);
