import type { Sql } from '../sql.ts';
import type { OutboxMessage } from './outbox.ts';

const maxTenants = 50;

export interface ClaimedMessage<Payload> extends OutboxMessage<Payload> {
  readonly organizationId: string;
  readonly attempts: number;
}

export interface ClaimOptions {
  readonly topic: string;
  readonly claimMs: number;
  readonly maxMessages: number;
  readonly maxBytes: number;
  /** One tenant; or all tenants after `after` except these. */
  readonly tenants: { readonly only: string } | { readonly after: string; readonly except: readonly string[] };
}

export interface Claim<Payload> {
  /** A first message of each tenant, then a second of each, and so on. */
  readonly messages: ClaimedMessage<Payload>[];
  /** The last tenant of this claim; empty if the next claim begins with the first tenant. */
  readonly after: string;
  /** True if more messages may be ready to be claimed now. */
  readonly hasMore: boolean;
}

interface ClaimRow<Payload> extends ClaimedMessage<Payload> {
  position: number;
  turn: number;
  quota: number;
  tenants: number;
  last: string;
  available: number;
}

const due = '(claimed_until is null or claimed_until < now())';

/** Steps from tenant to tenant along the index, so that the cost does not grow with one tenant's waiting messages. */
const waitingTenants = `
  (select organization_id from outbox where topic = $1 and organization_id > $5 and ${due} order by topic, organization_id limit 1)
  union all
  select (select organization_id from outbox where topic = $1 and organization_id > tenants.organization_id and ${due}
          order by topic, organization_id limit 1)
  from tenants where tenants.organization_id is not null`;

const claimText = (tenants: string, isChosen: string) => `
  with recursive tenants (organization_id) as (${tenants}),
  chosen as materialized (select organization_id from tenants where ${isChosen} limit ${maxTenants}),
  share as materialized (
    select greatest(1, $2::int / greatest(1, count(*)))::int as quota, count(*)::int as tenants, max(organization_id) as last from chosen),
  locked as materialized (
    select message.* from chosen cross join lateral (
      select id, organization_id, bytes from outbox where topic = $1 and organization_id = chosen.organization_id and ${due}
      order by id limit (select quota from share) for update skip locked) as message),
  turns as (select *, row_number() over (partition by organization_id order by id)::int as turn from locked),
  positions as (
    select *, row_number() over line::int as position, sum(bytes) over line as total from turns window line as (order by turn, organization_id))
  update outbox set claimed_until = now() + $4::float8 * interval '1 millisecond'
  from positions, share
  where outbox.id = positions.id and positions.position <= $2 and (positions.position = 1 or positions.total <= $3)
  returning outbox.id, outbox.payload, outbox.organization_id as "organizationId", outbox.attempts, positions.position, positions.turn,
    share.quota, share.tenants, share.last, (select count(*)::int from locked) as available`;

// The steps do not exclude the tenants of $6: a step that did would read all messages of such a tenant.
const claimAny = claimText(waitingTenants, 'organization_id is not null and organization_id <> all($6)');
const claimOne = claimText('select $5::text', 'true');

export async function claimMessages<Payload>(sql: Sql, options: ClaimOptions): Promise<Claim<Payload>> {
  const { topic, claimMs, maxMessages, maxBytes, tenants } = options;
  const limits = [topic, maxMessages, maxBytes, claimMs];
  const rows = await ('only' in tenants
    ? sql<ClaimRow<Payload>>(claimOne, [...limits, tenants.only])
    : sql<ClaimRow<Payload>>(claimAny, [...limits, tenants.after, tenants.except]));
  rows.sort((a, b) => a.position - b.position);
  const [first] = rows;
  if (!first) return { messages: [], after: '', hasMore: 'after' in tenants && tenants.after !== '' };
  const isCut = first.available > rows.length || rows.some(({ turn }) => turn >= first.quota);
  const isFull = first.tenants >= maxTenants;
  const messages = rows.map(({ id, payload, organizationId, attempts }) => ({ id, payload, organizationId, attempts }));
  return { messages, after: isFull ? first.last : '', hasMore: isCut || isFull || ('after' in tenants && tenants.after !== '') };
}

export async function removeMessages(sql: Sql, ids: readonly string[]): Promise<void> {
  await sql('delete from outbox where id = any($1)', [ids]);
}

/** Moves the end of the claims to `ms` from now; no other relay claims the messages until then. */
export async function extendClaims(sql: Sql, ids: readonly string[], ms: number): Promise<void> {
  if (ids.length === 0) return;
  await sql("update outbox set claimed_until = now() + $2::float8 * interval '1 millisecond' where id = any($1)", [ids, ms]);
}

/** Ends the claims on the messages, so that every relay may claim them at once. */
export const releaseClaims = (sql: Sql, ids: readonly string[]): Promise<void> => extendClaims(sql, ids, 0);

/** Counts an attempt of a message that was refused alone, and postpones the next one. */
export async function postponeMessage(sql: Sql, id: string, attempts: number, ms: number): Promise<void> {
  await sql(
    "update outbox set attempts = greatest(attempts, $2), claimed_until = now() + $3::float8 * interval '1 millisecond' where id = $1",
    [id, attempts, ms],
  );
}

/** Moves the message to the dead letters. Returns its size; undefined if another relay has delivered or moved it. */
export async function setMessageAside(sql: Sql, id: string, attempts: number, reason: string): Promise<number | undefined> {
  const [row] = await sql<{ bytes: number }>(
    `with removed as (delete from outbox where id = $1 returning *)
     insert into dead_letters (id, topic, organization_id, payload, bytes, attempts, reason, created_at)
     select id, topic, organization_id, payload, bytes, $2, $3, created_at from removed
     on conflict (id) do update set attempts = excluded.attempts, reason = excluded.reason, dead_at = now()
     returning bytes`,
    [id, attempts, reason],
  );
  return row?.bytes;
}
