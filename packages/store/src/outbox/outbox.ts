import { type Implementation, operators, ServiceError } from '@agent-service/contracts';
import { isoTime, type Sql } from '../sql.ts';
import type { Store } from '../store.ts';

/** The outbox, for the first migration of a service with effects in other services. */
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

/** The step after it: columns by which a relay shares its time between tenants and cuts batches by size, and the dead letters. */
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
  /** The effect's own id, by which its receiver recognizes a repeated message. */
  id: string;
  payload: Payload;
}

/** Writes messages in the transaction of their cause; the relay of the topic sends them. */
export async function writeOutbox(sql: Sql, topic: string, messages: readonly OutboxMessage[]): Promise<void> {
  if (messages.length === 0) return;
  await sql(
    `insert into outbox (id, topic, payload)
     select message ->> 'id', $1, message -> 'payload' from jsonb_array_elements($2::jsonb) as message`,
    [topic, JSON.stringify(messages)],
  );
}

const maxAtOnce = 200;

interface DeadLetterRow {
  id: string;
  topic: string;
  organizationId: string;
  reason: string;
  attempts: number;
  bytes: number;
  createdAt: string;
  deadAt: string;
}

const columns = `id, topic, organization_id as "organizationId", reason, attempts, bytes, created_at as "createdAt", dead_at as "deadAt"`;

type OutboxMethods = Pick<Implementation<'agents'>, 'listDeadLetters' | 'retryDeadLetters'>;

/** The RPCs by which operators list and retry dead letters, for every service with an outbox. */
export const outboxMethods = ({ sql }: Pick<Store, 'sql'>, onRetry: () => void): OutboxMethods => ({
  listDeadLetters: {
    allow: operators,
    async handle({ limit, afterId }) {
      const most = Math.min(limit || maxAtOnce, maxAtOnce);
      const rows = await sql<DeadLetterRow>(`select ${columns} from dead_letters where id > $1 order by id limit $2`, [afterId, most]);
      const deadLetters = rows.map((row) => ({ ...row, createdAt: isoTime(row.createdAt), deadAt: isoTime(row.deadAt) }));
      return { deadLetters };
    },
  },
  retryDeadLetters: {
    allow: operators,
    async handle({ ids }) {
      if (ids.length > maxAtOnce)
        throw new ServiceError('invalid_request', { message: `At most ${maxAtOnce} ids in a call.`, param: 'ids' });
      const rows = await sql(
        `with removed as (delete from dead_letters where id = any($1) returning *)
         insert into outbox (id, topic, payload, created_at) select id, topic, payload, created_at from removed
         on conflict (id) do nothing returning 1`,
        [ids],
      );
      if (rows.length > 0) onRetry();
      return { retried: rows.length };
    },
  },
});
