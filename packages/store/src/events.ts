import { type Client, type ClientConfig, createClient, type EventType } from '@agent-service/contracts';
import { ConfigurationError, type ProcessContext, setting } from '@agent-service/runtime';
import { newId } from './ids.ts';
import { writeOutbox } from './outbox.ts';
import { type Relay, startRelay } from './relay.ts';
import type { Sql } from './sql.ts';
import type { Store } from './store.ts';

const topic = 'events';

/** An event as it lies in the outbox. */
export interface EventPayload {
  id: string;
  type: EventType;
  organizationId: string;
  /** Empty for what belongs to the organization as a whole. */
  environment: 'live' | 'test' | '';
  createdAt: string;
  data: Record<string, unknown>;
}

/** Leaves events for the webhooks in the transaction that caused them. */
export async function writeEvents(sql: Sql, events: readonly Omit<EventPayload, 'id'>[]): Promise<void> {
  const messages = events.map((event) => {
    const id = newId('evt');
    return { id, payload: { id, ...event } };
  });
  await writeOutbox(sql, topic, messages);
}

/** Carries events to the webhooks, which take each id once. Nudge it when events were committed: receivers wait for them. */
export function relayEvents(process: ProcessContext, store: Store, webhooks: Pick<Client<'webhooks'>, 'receiveEvents'>): Relay {
  return startRelay<EventPayload>(process, store, {
    topic,
    deliver: async (messages) => {
      await webhooks.receiveEvents({
        events: messages.map(({ payload: { data, ...event } }) => ({ ...event, dataJson: JSON.stringify(data) })),
      });
    },
  });
}

/** Settings of every process that speaks to the webhooks where there are any. */
export const eventSettings = { WEBHOOKS_ENABLED: setting.flag(false), WEBHOOKS_ADDRESS: setting.text().optional() };

interface WebhooksConfig extends ClientConfig {
  WEBHOOKS_ENABLED: boolean;
  WEBHOOKS_ADDRESS?: string | undefined;
}

/** The webhooks, as the service with this name calls them; undefined where they are off. */
export function openWebhooks(process: ProcessContext, config: WebhooksConfig, as: string): Client<'webhooks'> | undefined {
  if (!config.WEBHOOKS_ENABLED) return undefined;
  const address = config.WEBHOOKS_ADDRESS;
  if (!address) throw new ConfigurationError('These settings need attention:\n  WEBHOOKS_ADDRESS: is required with WEBHOOKS_ENABLED=true');
  const webhooks = createClient('webhooks', { address, as, config });
  process.onStop('webhooks client', async () => webhooks.close());
  return webhooks;
}

/** The relay of the service with this name, or undefined where webhooks are off and no events are recorded. */
export function openEventRelay(process: ProcessContext, store: Store, config: WebhooksConfig, as: string): Relay | undefined {
  const webhooks = openWebhooks(process, config, as);
  return webhooks && relayEvents(process, store, webhooks);
}
