import { type RpcOf, services } from '@agent-service/contracts';
import type { WebhooksContext } from '../context.ts';
import type { Tenant } from '../domain/tenant.ts';
import { type BegunRow, findBegun, linesOf } from '../store/begin.ts';
import { toMs } from '../store/time.ts';
import { checkCount, toJob } from './items.ts';
import { createOpenSecret, type OpenSecret } from './sealed-secrets.ts';

export function beginDelivery({ store, cipher, lines, now }: WebhooksContext): RpcOf<'webhooks', 'beginDelivery'> {
  const open = createOpenSecret(cipher);
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
          return { begun: row ? toBegun(open, job, row, at) : null };
        }),
      };
    },
  };
}

const toBegun = (open: OpenSecret, tenant: Tenant, row: BegunRow, at: number) => ({
  url: row.url,
  eventId: row.eventId,
  body: row.body,
  secrets: sealedOf(row, at).map((sealed) => open(tenant, row.endpointId, sealed)),
  receivedAtMs: toMs(row.receivedAt),
  attempt: row.attemptsMade + 1,
});

function sealedOf({ secret, previousSecret, previousSecretUntil }: BegunRow, at: number): string[] {
  const signsAlong = previousSecret !== null && previousSecretUntil !== null && at < toMs(previousSecretUntil);
  return signsAlong ? [secret, previousSecret] : [secret];
}
