import { randomUUID } from 'node:crypto';
import { type Call, type RpcOf, services } from '@agent-service/contracts';
import { judgeStatement, type Sql, writeAudit } from '@agent-service/store';
import { createSemaphore } from '@agent-service/work';
import type { WebhooksContext } from '../context.ts';
import { judge, type Outcome } from '../domain/outcome.ts';
import { type EndpointChange, settleBatch } from '../domain/settle-batch.ts';
import type { Alarm } from '../lines/lines.ts';
import { type DeliveredJob, saveDelivered, touchEndpoints } from '../store/delivered.ts';
import { type EndedDelivery, type EndpointAfter, type InHand, lockInHand, saveEnded, saveEndpoints } from '../store/end.ts';
import { distinctEndpoints, type EndpointKey, endpointKeyText } from '../store/keys.ts';
import type { Armed } from '../store/line.ts';
import { addNotice } from '../store/notices.ts';
import { toTimestamp } from '../store/time.ts';
import { checkCount, toJob } from './items.ts';
import { toOutcome } from './outcome-message.ts';

/** A line is looked at so long after the first in it was due, should its alarm not ring. */
const forgottenMs = 5_000;

interface Applied {
  endpoints: EndpointKey[];
  alarms: Alarm[];
  /** Whether an audit entry was left. */
  audited: boolean;
}

/** How long a batch of several tenants waits for a locked endpoint of one of them. */
const sharedLockLimitMs = 200;
const tenantsAtOnce = 3;

export const endDelivery = ({ store, lines, auditRelay, now }: WebhooksContext): RpcOf<'webhooks', 'endDelivery'> => {
  const tenantRuns = createSemaphore(tenantsAtOnce);

  async function endTogether(jobs: readonly EndingJob[], call: Call, at: number, lockLimitMs?: number): Promise<void> {
    const { endpoints, alarms, audited } = await store.transaction(async ({ sql }) => {
      if (lockLimitMs !== undefined) await sql(`select set_config('lock_timeout', $1, true)`, [String(lockLimitMs)]);
      const inHand = await lockInHand(sql, jobs);
      const outcomes = jobs.map(({ outcome }) => outcome);
      return await apply(sql, call, inHand, outcomes, at);
    });
    lines.ring(alarms);
    lines.nudge(endpoints);
    if (audited) auditRelay.nudge();
  }

  /** A locked endpoint delays the deliveries of its own tenant: the others are ended apart from it. */
  async function endApart(jobs: readonly EndingJob[], call: Call, at: number): Promise<void> {
    const tenants = [...Map.groupBy(jobs, ({ organizationId, environment }) => `${organizationId}/${environment}`).values()];
    if (tenants.length <= 1) return tenants[0] && (await endTogether(tenants[0], call, at));
    try {
      await endTogether(jobs, call, at, sharedLockLimitMs);
    } catch (cause) {
      if (!['slow', 'retry'].includes(judgeStatement(cause))) throw cause;
      const runs = await Promise.allSettled(tenants.map((tenant) => tenantRuns.run(() => endTogether(tenant, call, at))));
      const failed = runs.find((run) => run.status === 'rejected');
      if (failed) throw failed.reason;
    }
  }

  return {
    allow: services('webhook-dispatcher'),
    async handle({ items }, call) {
      checkCount(items, 'items');
      const at = now();
      const jobs = items.map((item, position): EndingJob => ({ ...toJob(item), position, outcome: toOutcome(item) }));
      const delivered = await saveDelivered(store.sql, jobs.filter(isDelivered), at);
      lines.nudge(delivered);
      await touchEndpoints(store.sql, delivered, at);
      const ended = new Set(delivered.map(({ position }) => position));
      await endApart(
        jobs.filter(({ position }) => !ended.has(position)),
        call,
        at,
      );
      return {};
    },
  };
};

interface EndingJob extends Armed {
  position: number;
  outcome: Outcome;
}

const isDelivered = (job: EndingJob): job is DeliveredJob => job.outcome.kind === 'answered' && judge(job.outcome) === 'delivered';

async function apply(sql: Sql, call: Call, inHand: readonly InHand[], outcomes: readonly Outcome[], at: number): Promise<Applied> {
  if (inHand.length === 0) return { endpoints: [], alarms: [], audited: false };
  const ending = inHand.map((each) => ({ ...each, endpoint: endpointKeyText(each), outcome: outcomes[each.position] as Outcome }));
  const { ends, endpoints } = settleBatch(ending, at, Math.random);
  const ended = ending.map(({ organizationId, environment, deliveryId, outcome }, index): EndedDelivery => {
    return { organizationId, environment, deliveryId, outcome, end: ends[index] as EndedDelivery['end'] };
  });
  const dispatches = await saveEnded(sql, ended, at);
  const keys = distinctEndpoints(inHand);
  const changes = keys.map((key) => ({ key, ...(endpoints.get(endpointKeyText(key)) as EndpointChange) }));
  await saveEndpoints(sql, changes.map(toAfter), at);
  const disabled = changes.filter(({ before, after }) => after.status === 'disabled' && before.status !== 'disabled');
  for (const { key, after } of disabled) {
    const last = ending.findLast(({ endpoint }) => endpoint === endpointKeyText(key));
    if (last) await tellDisabled(sql, call, key, last, toTimestamp(after.failingSince ?? at), at);
  }
  return { endpoints: keys, alarms: ended.flatMap((each) => alarmOf(each, dispatches, at)), audited: disabled.length > 0 };
}

const toAfter = ({ key, after, attempted, dueAt }: EndpointChange & { key: EndpointKey }): EndpointAfter => ({
  ...key,
  health: after,
  attempted,
  lookAt: dueAt === null ? null : dueAt + forgottenMs,
});

/** In the transaction that disables it: an audit entry, and word to the administrators. */
async function tellDisabled(
  sql: Sql,
  call: Call,
  { organizationId, environment, endpointId }: EndpointKey,
  { url, outcome }: { url: string; outcome: Outcome },
  failingSince: string,
  at: number,
): Promise<void> {
  const reason = outcome.kind === 'answered' && outcome.status === 410 ? 'gone' : 'failing';
  const target = { type: 'webhook', id: endpointId };
  await writeAudit(sql, call, {
    action: 'webhook.disabled',
    organizationId,
    environment,
    target,
    changes: { reason, failing_since: failingSince },
  });
  const notice = { endpointId, url, reason, failingSince, disabledAt: toTimestamp(at) } as const;
  await addNotice(sql, { organizationId, environment }, randomUUID(), notice, at);
}

/** Those given back are in their line again at once; the nudge takes care of them. */
function alarmOf(
  { organizationId, environment, deliveryId, end }: EndedDelivery,
  dispatches: ReadonlyMap<string, number>,
  at: number,
): Alarm[] {
  if (end.state !== 'waiting' || end.dueAt <= at) return [];
  return [{ organizationId, environment, deliveryId, dispatch: dispatches.get(deliveryId) ?? 0, delayMs: end.dueAt - at }];
}
