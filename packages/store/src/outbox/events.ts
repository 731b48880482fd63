import { type Client, type EventType, newId, openWebhooksClient, type WebhooksClientConfig } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import type { Sql } from '../sql.ts';
import type { Store } from '../store.ts';
import { writeOutbox } from './outbox.ts';
import { type Relay, startRelay } from './relay.ts';

/** The outbox topic of events. */
export const eventTopic = 'events';

/** An event in the outbox. */
interface EventPayload {
  id: string;
  type: EventType;
  organizationId: string;
  /** Empty for an event of the organization as a whole. */
  environment: 'live' | 'test' | '';
  createdAt: string;
  data: Record<string, unknown>;
}

/** Writes events for the webhooks in the transaction that caused them. */
export async function writeEvents(sql: Sql, events: readonly Omit<EventPayload, 'id'>[]): Promise<void> {
  const messages = events.map((event) => {
    const id = newId('evt');
    return { id, payload: { id, ...event } };
  });
  await writeOutbox(sql, eventTopic, messages);
}

/** Sends events to the webhooks service, which takes each id once. Nudge the relay after the commit, so that receivers do not wait. */
function relayEvents(process: ProcessContext, store: Store, webhooks: Pick<Client<'webhooks'>, 'receiveEvents'>): Relay {
  return startRelay<EventPayload>(process, store, {
    topic: eventTopic,
    deliver: async (messages) => {
      await webhooks.receiveEvents({
        events: messages.map(({ payload: { data, ...event } }) => ({ ...event, dataJson: JSON.stringify(data) })),
      });
    },
  });
}

/** The relay of the service with this name; undefined if webhooks are off, when no events are recorded. */
export function openEventRelay(process: ProcessContext, store: Store, config: WebhooksClientConfig, as: string): Relay | undefined {
  const webhooks = openWebhooksClient(process, config, as);
  return webhooks && relayEvents(process, store, webhooks);
}
