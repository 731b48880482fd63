import { randomUUID } from 'node:crypto';
import { type Call, checkId, checkItems, checkTenant, type RpcOf, ServiceError, services, type Tenant } from '@agent-service/contracts';
import { toStorable } from '@agent-service/contracts/text';
import { classifyDatabaseFailure, isoTime, type Sql, writeAudit } from '@agent-service/store';
import { createBatcher, createSlowTenants, tenantName } from '@agent-service/work';
import type { WebhooksDeps } from '../deps.ts';
import { classifyOutcome, endAttempts, type Outcome, type WebhookChange } from '../domain/attempts.ts';
import {
  type AttemptRow,
  type DeliveredJob,
  dropWithoutEvent,
  type EndedDelivery,
  findAttempts,
  lockInFlight,
  recordDeliveryTimes,
  saveDelivered,
  saveEnded,
  saveWebhookHealth,
  type WebhookUpdate,
} from '../store/attempts.ts';
import { addNotice } from '../store/notices.ts';
import { type DispatchedKey, distinctWebhooks, limitSharedWait, toMs, type WebhookKey, webhookKeyText } from '../store/queue.ts';
import { createSecretOpener, type SecretOpener } from './secrets.ts';

export function beginDelivery({ store, cipher, dispatch, logger, now }: WebhooksDeps): RpcOf<'webhooks', 'beginDelivery'> {
  const openSecret = createSecretOpener(cipher);
  /** Deliveries of a webhook whose secret cannot be opened wait until it can; other webhooks are not affected. */
  const open = (tenant: Tenant, webhookId: string, sealed: string): string | undefined => {
    try {
      return openSecret(tenant, webhookId, sealed);
    } catch (cause) {
      logger.warn({ event: 'webhook_secret_unopened', organization_id: tenant.organizationId, webhook_id: webhookId, err: cause });
      return undefined;
    }
  };
  const endWithoutEvent = async (jobs: readonly DispatchedKey[], at: number): Promise<void> => {
    const dropped = await dropWithoutEvent(store.sql, jobs, at);
    if (dropped.length === 0) return;
    const webhooks = distinctWebhooks(dropped);
    logger.warn({ event: 'deliveries_without_event', deliveries: dropped.length, webhook_ids: webhooks.map(({ webhookId }) => webhookId) });
    dispatch.nudge(webhooks);
  };
  return {
    allow: services('webhook-dispatcher'),
    async handle({ items }) {
      checkItems(items);
      const jobs = items.map(toJob);
      const at = now();
      const rows = await findAttempts(store.sql, jobs);
      const attempts = new Map(rows.map((row) => [row.position, row]));
      const unbegun = jobs.filter((_, position) => !attempts.has(position));
      if (unbegun.length > 0) await endWithoutEvent(unbegun, at);
      return {
        results: jobs.map((job, position) => {
          const row = attempts.get(position);
          return { begun: row ? toBegun(open, job, row, at) : null };
        }),
      };
    },
  };
}

type Open = (...args: Parameters<SecretOpener>) => string | undefined;

/** Every event is signed with the webhook's own secret, and with the previous one too while that is valid; null where the own secret cannot be opened. */
function toBegun(open: Open, tenant: Tenant, row: AttemptRow, at: number) {
  const secret = open(tenant, row.webhookId, row.secret);
  if (secret === undefined) return null;
  const previous = previousSecretOf(row, at);
  const previousSecret = previous === null ? undefined : open(tenant, row.webhookId, previous);
  return {
    url: row.url,
    eventId: row.eventId,
    body: row.body,
    secrets: previousSecret === undefined ? [secret] : [secret, previousSecret],
    receivedAtMs: toMs(row.createdAt),
    attempt: row.attemptsMade + 1,
    webhookId: row.webhookId,
    eventType: row.eventType,
  };
}

const previousSecretOf = ({ previousSecret, previousSecretUntil }: AttemptRow, at: number): string | null =>
  previousSecretUntil !== null && at < toMs(previousSecretUntil) ? previousSecret : null;

interface EndedBatch {
  webhooks: WebhookKey[];
  isAudited: boolean;
}

const maxJobs = 500;
/** Batches that run at once: one for each shard of tenants, and those of tenants that were slow lately. */
const shards = 4;
const slowPermits = 3;

export const endDelivery = (deps: WebhooksDeps): RpcOf<'webhooks', 'endDelivery'> => {
  const { store, dispatch, now } = deps;
  // A locked webhook delays the deliveries of its own tenant only.
  const ending = createBatcher<EndingJob, void>({
    run: (jobs) => endBatch(deps, jobs),
    maxItems: maxJobs,
    classify: classifyDatabaseFailure,
    tenants: { of: (job) => job, lanes: shards, slow: createSlowTenants({ permits: slowPermits }) },
  });
  return {
    allow: services('webhook-dispatcher'),
    async handle({ items }, call) {
      checkItems(items);
      const at = now();
      const jobs = items.map((item, position): EndingJob => ({ ...toJob(item), position, outcome: toOutcome(item), url: item.url, call }));
      const delivered = await saveDelivered(store.sql, jobs.filter(isDelivered), at);
      dispatch.nudge(delivered);
      await recordDeliveryTimes(store.sql, delivered, at);
      const done = new Set(delivered.map(({ position }) => position));
      const runs = await Promise.allSettled(jobs.filter(({ position }) => !done.has(position)).map((job) => ending.add(job)));
      const failed = runs.find((run) => run.status === 'rejected');
      if (failed) throw failureOf(failed.reason);
      return {};
    },
  };
};

/** While the database works, only the outcomes of single webhooks fail: the code makes the dispatcher report those of each tenant alone. */
const failureOf = (cause: unknown): unknown =>
  classifyDatabaseFailure(cause) === 'all' ? cause : new ServiceError('outcomes_not_saved', { cause });

interface EndingJob extends DispatchedKey {
  /** Its index among the items of its call. */
  position: number;
  outcome: Outcome;
  /** The URL that the attempt was sent to; empty from dispatchers of the version before. */
  url: string;
  /** The call that reports the outcome. */
  call: Call;
}

async function endBatch({ store, dispatch, auditRelay, now }: WebhooksDeps, batch: readonly EndingJob[]): Promise<undefined[]> {
  // Two calls may report the same attempt: the first counts.
  const jobs = [...new Map(batch.toReversed().map((job) => [`${tenantName(job)}/${job.deliveryId}/${job.dispatch}`, job])).values()];
  const isShared = new Set(jobs.map(tenantName)).size > 1;
  const { webhooks, isAudited } = await store.transaction(async ({ sql }) => {
    if (isShared) await limitSharedWait(sql);
    return await endInFlight(sql, jobs, now());
  });
  dispatch.nudge(webhooks);
  if (isAudited) auditRelay.nudge();
  return batch.map(() => undefined);
}

const isDelivered = (job: EndingJob): job is EndingJob & DeliveredJob =>
  job.outcome.kind === 'answered' && classifyOutcome(job.outcome) === 'delivered';

async function endInFlight(sql: Sql, jobs: readonly EndingJob[], at: number): Promise<EndedBatch> {
  const inFlight = await lockInFlight(sql, jobs);
  if (inFlight.length === 0) return { webhooks: [], isAudited: false };
  const ending = inFlight.map((each) => {
    const { outcome, url, call } = jobs[each.position] as EndingJob;
    return { ...each, webhook: webhookKeyText(each), isUrlCurrent: url === '' || url === each.url, outcome, call };
  });
  const { ends, webhooks } = endAttempts(ending, at, Math.random);
  const ended = ending.map(({ organizationId, environment, deliveryId, outcome }, index): EndedDelivery => {
    return { organizationId, environment, deliveryId, outcome, end: ends[index] as EndedDelivery['end'] };
  });
  await saveEnded(sql, ended, at);
  const keys = distinctWebhooks(inFlight);
  const changes = keys.map((key) => ({ key, ...(webhooks.get(webhookKeyText(key)) as WebhookChange) }));
  await saveWebhookHealth(sql, changes.map(toAfter), at);
  const disabled = changes.flatMap(({ key, after, disabledBy }) => {
    const cause = disabledBy === null ? undefined : ending[disabledBy];
    return cause ? [{ key, after, cause }] : [];
  });
  for (const { key, after, cause } of disabled) await recordDisabled(sql, key, cause, isoTime(after.failingSince ?? at), at);
  return { webhooks: keys, isAudited: disabled.length > 0 };
}

const toAfter = ({ key, after, isAttempted, dueAt }: WebhookChange & { key: WebhookKey }): WebhookUpdate => ({
  ...key,
  health: after,
  isAttempted,
  checkAt: dueAt,
});

/** Adds an audit entry and a notice to the administrators, in the transaction that disables the webhook. */
async function recordDisabled(
  sql: Sql,
  { organizationId, environment, webhookId }: WebhookKey,
  { url, outcome, call }: { url: string; outcome: Outcome; call: Call },
  failingSince: string,
  at: number,
): Promise<void> {
  const reason = outcome.kind !== 'returned' && classifyOutcome(outcome) === 'gone' ? 'gone' : 'failing';
  const target = { type: 'webhook', id: webhookId };
  await writeAudit(sql, call, {
    action: 'webhook.disabled',
    organizationId,
    environment,
    target,
    changes: { reason, failing_since: failingSince },
  });
  const notice = { endpointId: webhookId, url, reason, failingSince, disabledAt: isoTime(at) } as const;
  await addNotice(sql, { organizationId, environment }, randomUUID(), notice, at);
}

type Item = Parameters<RpcOf<'webhooks', 'endDelivery'>['handle']>[0]['items'][number];

const maxBodyLength = 1_024;

function toOutcome({ answer, failure, returned }: Item): Outcome {
  if (answer) {
    const { status, body, retryAfterMs, durationMs } = answer;
    return { kind: 'answered', status, body: toStorable(body, maxBodyLength), retryAfterMs: Number(retryAfterMs), durationMs };
  }
  if (failure) return { kind: 'unanswered', reason: toStorable(failure.reason, maxBodyLength), durationMs: failure.durationMs };
  if (returned) return { kind: 'returned' };
  throw new ServiceError('invalid_request', { message: 'Each item needs an outcome.', param: 'outcome' });
}

interface JobItem {
  delivery: { organizationId: string; environment: string; deliveryId: string } | null;
  dispatch: number;
}

const toJob = ({ delivery, dispatch }: JobItem): DispatchedKey => ({
  ...checkTenant(delivery),
  deliveryId: checkId(delivery?.deliveryId ?? '', 'delivery_id'),
  dispatch,
});
