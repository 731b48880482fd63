import { type RpcOf, services } from '@agent-service/contracts';
import type { WebhooksContext } from '../context.ts';
import type { Tenant } from '../domain/tenant.ts';
import { type BegunRow, findBegun, linesOf } from '../store/begin.ts';
import { toMs } from '../store/time.ts';
import { checkCount, toJob } from './items.ts';
import { createOpenSecret, type OpenSecret } from './sealed-secrets.ts';

export function beginDelivery({ store, cipher, lines, logger, now }: WebhooksContext): RpcOf<'webhooks', 'beginDelivery'> {
  const openSecret = createOpenSecret(cipher);
  /** A secret that does not open stops its own endpoint's deliveries, which wait until it does, and nobody else's. */
  const open = (tenant: Tenant, endpointId: string, sealed: string): string | undefined => {
    try {
      return openSecret(tenant, endpointId, sealed);
    } catch (cause) {
      logger.warn({ event: 'webhook_secret_unopened', organization_id: tenant.organizationId, endpoint_id: endpointId, err: cause });
      return undefined;
    }
  };
  return {
    allow: services('webhook-dispatcher'),
    async handle({ items }) {
      checkCount(items, 'items');
      const jobs = items.map(toJob);
      const at = now();
      const rows = await findBegun(store.sql, jobs);
      const begun = new Map(rows.map((row) => [row.position, row]));
      const others = jobs.filter((_, position) => !begun.has(position));
      if (others.length > 0) lines.nudge(await linesOf(store.sql, others, at));
      return {
        results: jobs.map((job, position) => {
          const row = begun.get(position);
          return { begun: row ? begunOf(open, job, row, at) : null };
        }),
      };
    },
  };
}

type Open = (...args: Parameters<OpenSecret>) => string | undefined;

/** Nothing is sent that is not signed with the endpoint's own secret; the former one signs along where it can. */
function begunOf(open: Open, tenant: Tenant, row: BegunRow, at: number) {
  const secret = open(tenant, row.endpointId, row.secret);
  if (secret === undefined) return null;
  const former = formerOf(row, at);
  const formerSecret = former === null ? undefined : open(tenant, row.endpointId, former);
  return {
    url: row.url,
    eventId: row.eventId,
    body: row.body,
    secrets: formerSecret === undefined ? [secret] : [secret, formerSecret],
    receivedAtMs: toMs(row.receivedAt),
    attempt: row.attemptsMade + 1,
  };
}

const formerOf = ({ previousSecret, previousSecretUntil }: BegunRow, at: number): string | null =>
  previousSecretUntil !== null && at < toMs(previousSecretUntil) ? previousSecret : null;
