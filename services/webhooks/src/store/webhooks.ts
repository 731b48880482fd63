import type { Tenant } from '@agent-service/contracts';
import { changedValues, isEmpty } from '@agent-service/contracts/changes';
import { isoTime, LockMode, type Page, type Sql, type Transaction } from '@agent-service/store';
import { healthy } from '../domain/health.ts';
import { Webhook, type WebhookRow } from './entities.ts';
import { deliveriesRetainedMs } from './months.ts';
import type { WebhookKey } from './queue.ts';

type EntityManager = Transaction['em'];

export interface NewWebhook extends Tenant {
  readonly id: string;
  readonly url: string;
  readonly events: string[];
  readonly description: string;
  readonly active: boolean;
  readonly sealedSecret: string;
  readonly at: number;
}

/** Counts a tenant's webhooks, and holds a lock against other transactions that add one. */
export async function lockAndCountWebhooks({ sql, em }: Transaction, { organizationId, environment }: Tenant): Promise<number> {
  await sql(lockTenant, [`endpoints ${organizationId} ${environment}`]);
  return await countWebhooks(em, { organizationId, environment });
}

const lockTenant = 'select pg_advisory_xact_lock(hashtextextended($1, 0))';

/** A tenant may have so few that counting them costs nothing. */
export const countWebhooks = (em: EntityManager, { organizationId, environment }: Tenant): Promise<number> =>
  em.count(Webhook, { organizationId, environment, deletedAt: null });

export async function addWebhook(em: EntityManager, { at, sealedSecret, ...fields }: NewWebhook): Promise<WebhookRow> {
  const createdAt = new Date(at);
  const unused = { status: healthy.status, failedEvents: 0, deliveries: 0, deliveriesByMonth: {}, voiding: false };
  const webhook = em.create(Webhook, { ...fields, ...unused, secret: sealedSecret, createdAt, updatedAt: createdAt });
  await em.flush();
  return webhook;
}

/** Newest first. One row more than `limit` shows that there is a further page. */
export function listWebhooks(em: EntityManager, tenant: Tenant, after: Page['after'] | undefined, limit: number): Promise<WebhookRow[]> {
  const { organizationId, environment } = tenant;
  const [time, lastId] = after ?? [];
  const createdAt = new Date(time ?? 0);
  return em.find(
    Webhook,
    {
      organizationId,
      environment,
      deletedAt: null,
      ...(after && { createdAt: { $lte: createdAt }, $or: [{ createdAt: { $lt: createdAt } }, { id: { $lt: String(lastId) } }] }),
    },
    { orderBy: { createdAt: 'desc', id: 'desc' }, limit: limit + 1 },
  );
}

/** The webhook, locked until the transaction ends; null if there is none. */
export const lockWebhook = (em: EntityManager, { organizationId, environment }: Tenant, id: string): Promise<WebhookRow | null> =>
  em.findOne(Webhook, { organizationId, environment, id, deletedAt: null }, { lockMode: LockMode.PESSIMISTIC_WRITE });

export type WebhookChanges = Partial<Pick<WebhookRow, 'url' | 'events' | 'description' | 'active'>>;

/**
 * Applies a caller's changes to a locked webhook. A deactivation drops the pending deliveries. An activation resets the health, and
 * deliveries of any age are accepted once all pending ones are dropped. Resolves to the values that differ for the caller.
 */
export async function changeWebhook(em: EntityManager, webhook: WebhookRow, values: WebhookChanges, at: number) {
  const isDeactivation = webhook.active && values.active === false;
  // Also of a webhook that is active: it may be failing.
  const isActivation = values.active === true;
  const changes = changedValues(webhook, { ...values, ...(isActivation && { status: healthy.status }) });
  em.assign(webhook, {
    ...changes,
    ...(!isEmpty(changes) && { updatedAt: new Date(at) }),
    ...(isActivation && { failingSince: null, firstFailureAt: null, failedEvents: 0 }),
    ...(isActivation && !webhook.voiding && { voidBefore: null }),
    ...(isDeactivation && { voidBefore: new Date(at), voiding: true }),
  });
  await em.flush();
  return changes;
}

/** Hides a locked webhook from callers at once and drops its deliveries; a sweep removes it later. */
export async function markWebhookDeleted(em: EntityManager, webhook: WebhookRow, at: number): Promise<void> {
  const deletedAt = new Date(at);
  const secrets = { secret: '', previousSecret: null };
  em.assign(webhook, { ...secrets, deletedAt, active: false, voidBefore: deletedAt, voiding: true, lookAt: null });
  await em.flush();
}

/** Replaces the secret of a locked webhook. The previous one also signs until `previousUntil`. */
export async function replaceSecret(
  em: EntityManager,
  webhook: WebhookRow,
  sealed: string,
  at: number,
  previousUntil: number,
): Promise<void> {
  const previous = { previousSecret: webhook.secret, previousSecretUntil: new Date(previousUntil) };
  em.assign(webhook, { ...previous, secret: sealed, updatedAt: new Date(at) });
  await em.flush();
}

/** Removes a bounded number of previous secrets that do not sign any more; resolves to their number. */
export async function removePreviousSecrets(sql: Sql, now: number, limit: number): Promise<number> {
  return (await sql(removePrevious, [isoTime(now), limit])).length;
}

// Condition and order are those of the index of the versions of keys, which holds the webhooks with a previous secret.
const removePrevious = `
  update endpoints set previous_secret = null where (organization_id, environment, id) in (
    select organization_id, environment, id from endpoints where previous_secret <> '' and previous_secret_until < $1
    order by split_part(left(previous_secret, 6), ':', 1), organization_id, environment, id limit $2 for update skip locked)
  returning 1`;

/** Removes a bounded number of deleted webhooks whose deliveries are no longer retained; resolves to their number. */
export async function removeDeletedWebhooks(sql: Sql, now: number, limit: number): Promise<number> {
  return (await sql(removeDeleted, [isoTime(now - deliveriesRetainedMs), limit])).length;
}

const removeDeleted = `
  delete from endpoints where (organization_id, environment, id) in (
    select organization_id, environment, id from endpoints where deleted_at < $1 limit $2 for update skip locked)
  returning 1`;

/**
 * Drops a bounded number of void deliveries of one webhook. Resolves to their number, and to 1 if only the webhook's mark had to be removed.
 * Attempts that are under way end without effect. A webhook whose deliveries are locked by other transactions waits for the next sweep.
 */
export async function dropVoid(sql: Sql, now: number, limit: number): Promise<number> {
  for (let after: readonly string[] = ['', '', '']; ; ) {
    const [webhook] = await sql<WebhookKey & { voidBefore: string }>(findVoiding, after);
    if (!webhook) return 0;
    const key = [webhook.organizationId, webhook.environment, webhook.webhookId];
    const dropped = await sql(dropDeliveries, [...key, webhook.voidBefore, limit, isoTime(now)]);
    if (dropped.length === limit) return dropped.length;
    const ended = await sql(endVoiding, key);
    if (dropped.length + ended.length > 0) return dropped.length + ended.length;
    after = key;
  }
}

const findVoiding = `
  select organization_id as "organizationId", environment, id as "webhookId", void_before as "voidBefore" from endpoints
  where voiding and (organization_id, environment, id) > ($1, $2, $3)
  order by organization_id, environment, id limit 1 for no key update skip locked`;
const dropDeliveries = `
  update deliveries set state = 'dropped', ended_at = $6, look_at = null where (organization_id, environment, id) in (
    select organization_id, environment, id from deliveries
    where organization_id = $1 and environment = $2 and endpoint_id = $3 and ended_at is null and created_at <= $4
    limit $5 for update skip locked)
  returning 1`;
const endVoiding = `
  update endpoints set voiding = false where organization_id = $1 and environment = $2 and id = $3 and not exists (
    select 1 from deliveries
    where organization_id = $1 and environment = $2 and endpoint_id = $3 and ended_at is null and created_at <= void_before)
  returning 1`;

/** The prepared statements of this file; a test prepares each against the migrated schema. */
export const webhookStatements = { lockTenant, removePrevious, removeDeleted, findVoiding, dropDeliveries, endVoiding };
