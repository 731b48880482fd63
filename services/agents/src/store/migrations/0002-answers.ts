import { migration } from '@agent-service/store';

// message_count and last_message_at count an answer from its acceptance on, so that a list and its total agree while it is pending.
const conversations = `
  create table conversations (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    id text not null,
    agent_id text not null,
    user_id text not null,
    message_count integer not null check (message_count >= 0),
    total_credits bigint not null default 0 check (total_credits >= 0),
    created_at timestamptz(3) not null,
    last_message_at timestamptz(3) not null,
    primary key (organization_id, environment, id)
  ) with (fillfactor = 70);
  create index conversations_listed_index
    on conversations (agent_id, user_id, organization_id, environment, last_message_at desc, id desc);
`;

// An answer's message is written when the answer ends; the user's message is the record of its acceptance.
// created_at is the millisecond in the id, so that a look-up by id knows its partition.
// Only the key begins with its columns: the planner uses any index like it for look-ups by id while the table is small, and keeps that plan.
// For the same reason the index of due times does not begin with the state.
const messages = `
  create table messages (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    id text not null,
    created_at timestamptz(3) not null,
    conversation_id text not null,
    agent_id text not null,
    user_id text not null,
    role text not null check (role in ('user', 'assistant')),
    content text not null,
    status text not null check (status in ('completed', 'failed', 'cancelled')),
    tier text not null default '',
    credits integer not null default 0 check (credits >= 0),
    attempt integer not null default 0,
    failure_code text not null default '',
    failure_message text not null default '',
    queries jsonb,
    primary key (organization_id, environment, id, created_at),
    constraint messages_charged_when_completed check (credits = 0 or status = 'completed')
  ) partition by range (created_at);
  create index messages_conversation_index
    on messages (conversation_id, organization_id, environment, created_at desc, id desc);
`;

// A row exists from an answer's acceptance until its hold is settled or released. At due a sweep takes it up: at the end of the lease of a
// running one, at the deadline at the latest. A row that is releasing is only a hold; without an agent, that of a message never accepted.
// The index of conversations has another collation than the key, so that the planner does not use it in place of the key.
const unfinishedAnswers = `
  create table answers (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    id text not null,
    state text not null check (state in ('waiting', 'dispatched', 'running', 'settling', 'releasing')),
    due timestamptz(3) not null,
    agent_id text not null default '',
    agent_name text not null default '',
    conversation_id text not null default '',
    continues boolean not null default false,
    user_id text not null default '',
    tier text not null default '',
    user_message_id text not null default '',
    message text not null default '',
    context_json text not null default '',
    request_id text not null default '',
    traceparent text not null default '',
    idempotency_scope text not null default '',
    stream boolean not null default false,
    reply_channels text[] not null default '{}',
    accepted_at timestamptz(3) not null,
    deadline timestamptz(3) not null,
    dispatches integer not null default 0,
    priority integer not null default 0,
    dispatched_at timestamptz(3),
    claim text not null default '',
    attempt integer not null default 0,
    worker_channel text not null default '',
    content text not null default '',
    input_tokens integer not null default 0,
    output_tokens integer not null default 0,
    queries jsonb,
    primary key (organization_id, environment, id)
  ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
  create unique index answers_conversation_index
    on answers (conversation_id collate "C", organization_id collate "C", environment collate "C") where state <> 'releasing';
  create index answers_waiting_index on answers (organization_id, environment, id) where state = 'waiting';
  create index answers_due_index on answers (due);
`;

// The counters of a tenant's waiting line. A statement that changes them locks the row first.
const answerLines = `
  create table answer_lines (
    organization_id text not null,
    environment text not null check (environment in ('live', 'test')),
    waiting integer not null default 0 check (waiting >= 0),
    in_flight integer not null default 0 check (in_flight >= 0),
    primary key (organization_id, environment)
  ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);
  create index answer_lines_waiting_index on answer_lines (organization_id, environment) where waiting > 0;
`;

// Which answer an Idempotency-Key names. A failed or cancelled answer frees its key.
const answerKeys = `
  create table answer_keys (
    organization_id text not null,
    environment text not null,
    scope text not null,
    fingerprint text not null,
    answer_id text not null,
    created_at timestamptz(3) not null,
    primary key (organization_id, environment, scope)
  );
  create index answer_keys_created_at_index on answer_keys (created_at);
`;

export const answers = migration('0002-answers', conversations, messages, unfinishedAnswers, answerLines, answerKeys);
