import { checkEnvironment, checkId, checkItems, isEventType, type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { Logger } from '@agent-service/runtime';
import type { WebhooksDeps } from '../deps.ts';
import { serializeEvent, type WebhookEvent } from '../domain/events.ts';
import { monthOfEvent } from '../store/months.ts';
import { storeEvents } from '../store/receive.ts';

type Event = Parameters<RpcOf<'webhooks', 'receiveEvents'>['handle']>[0]['events'][number];

export const receiveEvents = ({ store, months, dispatch, logger, now }: WebhooksDeps): RpcOf<'webhooks', 'receiveEvents'> => ({
  allow: services('agents', 'credits', 'identity'),
  async handle({ events }) {
    checkItems(events, 'events');
    const at = now();
    const received = events.flatMap((event) => toEvents(event, at, logger));
    await months.ensureCurrent(
      at,
      received.map(({ createdAt }) => Date.parse(createdAt)),
    );
    const webhooks = await store.transaction(({ sql }) => storeEvents(sql, received, at));
    dispatch.nudge(webhooks);
    return {};
  },
});

/** An event of the whole organization is an event of each environment. Unknown types have no subscribers and are ignored. */
function toEvents(event: Event, now: number, logger: Logger): WebhookEvent[] {
  const { id, type, organizationId, environment, createdAt } = event;
  if (!isEventType(type)) return [];
  const month = monthOfEvent(createdAt, now);
  if (month === undefined) {
    logger.error({ event: 'event_outside_kept_time', id, type, organization_id: organizationId, created_at: createdAt });
    return [];
  }
  const body = serializeEvent({ id: checkId(id, 'id'), type, createdAt, data: readData(event) });
  const environments = environment === '' ? (['live', 'test'] as const) : [checkEnvironment(environment)];
  return environments.map((each) => ({
    organizationId: checkId(organizationId, 'organization_id'),
    environment: each,
    id,
    type,
    createdAt,
    month,
    body,
  }));
}

function readData({ dataJson }: Event): object {
  const data = parseJson(dataJson);
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data;
  throw new ServiceError('invalid_request', { message: 'data_json must hold an object.', param: 'data_json' });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceError('invalid_request', { message: 'data_json must hold JSON.', param: 'data_json', cause });
  }
}
