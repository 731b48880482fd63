import type { Sql } from './sql.ts';

/** What a service that has effects elsewhere adds to its first migration. */
export const outboxTable = `
  create table outbox (
    id text primary key,
    topic text not null,
    payload jsonb not null,
    created_at timestamptz not null default now(),
    claimed_until timestamptz
  );
  create index outbox_topic_id_index on outbox (topic, id);
`;

/** The step after it: what a relay needs to share itself fairly between tenants, cut batches by size and set messages aside. */
export const deadLettersTable = `
  alter table outbox
    add column attempts integer not null default 0,
    add column organization_id text not null generated always as (coalesce(nullif(payload ->> 'organizationId', ''), '-')) stored,
    add column bytes integer not null generated always as (octet_length(payload::text)) stored;
  create index outbox_organization_index on outbox (topic, organization_id, id);

  create table dead_letters (
    id text primary key,
    topic text not null,
    organization_id text not null,
    payload jsonb not null,
    bytes integer not null,
    attempts integer not null,
    reason text not null,
    created_at timestamptz not null,
    dead_at timestamptz not null default now()
  );
  create index dead_letters_topic_index on dead_letters (topic, dead_at);
`;

export interface OutboxMessage<Payload = unknown> {
  /** The effect's own id: whoever receives it twice knows it. */
  id: string;
  payload: Payload;
}

/** Leaves messages in the same transaction as the work; the relay of the topic carries them on. */
export async function writeOutbox(sql: Sql, topic: string, messages: readonly OutboxMessage[]): Promise<void> {
  if (messages.length === 0) return;
  await sql(
    `insert into outbox (id, topic, payload)
     select message ->> 'id', $1, message -> 'payload' from jsonb_array_elements($2::jsonb) as message`,
    [topic, JSON.stringify(messages)],
  );
}
