import { isEventType, type RpcOf, ServiceError, services } from '@agent-service/contracts';
import type { Logger } from '@agent-service/runtime';
import type { WebhooksContext } from '../context.ts';
import { bodyOf, type WebhookEvent } from '../domain/event.ts';
import { monthOfEvent } from '../store/months.ts';
import { receiveEvents as store } from '../store/receive.ts';
import { checkCount, checkEnvironment, checkId } from './items.ts';

type Event = Parameters<RpcOf<'webhooks', 'receiveEvents'>['handle']>[0]['events'][number];

export const receiveEvents = ({ store: database, months, lines, logger, now }: WebhooksContext): RpcOf<'webhooks', 'receiveEvents'> => ({
  allow: services('agents', 'credits', 'identity'),
  async handle({ events }) {
    checkCount(events, 'events');
    const at = now();
    const received = events.flatMap((event) => toEvents(event, at, logger));
    await months.ensure(at);
    const endpoints = await database.transaction(({ sql }) => store(sql, received, at));
    lines.nudge(endpoints);
    return {};
  },
});

/** An event of the organization as a whole is one in each of its environments. Nobody can listen to a type that is not known here. */
function toEvents(event: Event, now: number, logger: Logger): WebhookEvent[] {
  const { id, type, organizationId, environment, createdAt } = event;
  if (!isEventType(type)) return [];
  const month = monthOfEvent(createdAt, now);
  if (month === undefined) {
    logger.error({ event: 'event_outside_kept_time', id, type, organization_id: organizationId, created_at: createdAt });
    return [];
  }
  const body = bodyOf({ id: checkId(id, 'id'), type, createdAt, data: dataOf(event) });
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

function dataOf({ dataJson }: Event): object {
  const data = parsed(dataJson);
  if (typeof data === 'object' && data !== null && !Array.isArray(data)) return data;
  throw new ServiceError('invalid_request', { message: 'data_json must hold an object.', param: 'data_json' });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new ServiceError('invalid_request', { message: 'data_json must hold JSON.', param: 'data_json', cause });
  }
}
