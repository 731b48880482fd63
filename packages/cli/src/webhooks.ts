import type { Command } from 'commander';
import {
  group,
  inOrganization,
  type PageOptions,
  pageOutput,
  type Run,
  requireOrganization,
  type TenantOptions,
  withPages,
  withTenant,
} from './commands.ts';
import type { Connection } from './connection.ts';

const pageSize = 100;
const shownDeliveries = 10;

export function webhookCommands(program: Command, run: Run): void {
  const verb = group(program, 'webhook', 'Webhooks, where they are enabled');
  withPages(withTenant(verb('list', 'show them, newest first'))).action(({ limit, after, ...tenant }: TenantOptions & PageOptions) =>
    run(async ({ identity, webhooks }) => {
      await requireOrganization({ identity }, tenant.organization);
      const { endpoints, page } = await inOrganization(tenant, () => webhooks.listEndpoints({ page: { limit, cursor: after } }));
      return { webhooks: endpoints.map(webhookOutput), ...pageOutput(page) };
    }),
  );
  withTenant(verb('show', `show one with its latest ${shownDeliveries} deliveries`))
    .requiredOption('--webhook <id>')
    .action(({ webhook, ...tenant }: TenantOptions & { webhook: string }) =>
      run(({ webhooks }) =>
        inOrganization(tenant, async () => {
          const request = { endpointId: webhook, page: { limit: shownDeliveries, cursor: '' } };
          // An unknown webhook is refused here.
          const { deliveries } = await webhooks.listDeliveries(request);
          return { ...webhookOutput(await findWebhook(webhooks, webhook)), deliveries: deliveries.map(deliveryOutput) };
        }),
      ),
    );
}

type Webhooks = Connection['webhooks'];
type Webhook = Awaited<ReturnType<Webhooks['listEndpoints']>>['endpoints'][number];
type Delivery = Awaited<ReturnType<Webhooks['listDeliveries']>>['deliveries'][number];

/** A tenant has few webhooks. */
async function findWebhook(webhooks: Webhooks, id: string): Promise<Webhook> {
  let cursor = '';
  do {
    const { endpoints, page } = await webhooks.listEndpoints({ page: { limit: pageSize, cursor } });
    const webhook = endpoints.find((one) => one.id === id);
    if (webhook) return webhook;
    cursor = page?.nextCursor ?? '';
  } while (cursor !== '');
  throw new Error(`There is no webhook ${id}.`);
}

const webhookOutput = (webhook: Webhook) => ({
  id: webhook.id,
  status: webhook.status,
  active: webhook.active,
  url: webhook.url,
  description: webhook.description,
  failing_since: webhook.failingSince,
  last_delivery_at: webhook.lastDeliveryAt,
  created_at: webhook.createdAt,
  events: webhook.events,
});

const deliveryOutput = ({ id, eventType, status, attempts, responseStatus, nextAttemptAt, createdAt }: Delivery) => ({
  id,
  event_type: eventType,
  status,
  attempts: attempts.length,
  response_status: responseStatus || '',
  error: attempts.at(-1)?.error ?? '',
  next_attempt_at: nextAttemptAt,
  created_at: createdAt,
});
