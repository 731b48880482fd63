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
