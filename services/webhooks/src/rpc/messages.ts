import { isoTime } from '@agent-service/store';
import type { DeliveryRow } from '../store/deliveries.ts';
import type { EndpointRow } from '../store/endpoints.ts';

const timeOrEmpty = (stored: string | null) => (stored === null ? '' : isoTime(stored));

/** An endpoint as the contract carries it; its secret never goes along. */
export const toEndpoint = (row: EndpointRow) => ({
  id: row.id,
  url: row.url,
  events: row.events,
  description: row.description,
  active: row.active,
  status: row.status,
  failingSince: timeOrEmpty(row.failingSince),
  lastDeliveryAt: timeOrEmpty(row.lastDeliveryAt),
  createdAt: isoTime(row.createdAt),
  updatedAt: isoTime(row.updatedAt),
});

const pending = ['waiting', 'armed'];

export function toDelivery(row: DeliveryRow) {
  const status = pending.includes(row.state) ? 'pending' : row.state;
  return {
    id: row.id,
    eventId: row.eventId,
    eventType: row.eventType,
    status,
    attempts: row.attempts.map(({ duration_ms: durationMs, ...attempt }) => ({ ...attempt, durationMs })),
    responseStatus: row.responseStatus,
    responseBody: row.responseBody,
    nextAttemptAt: status === 'pending' ? isoTime(row.dueAt) : '',
    createdAt: isoTime(row.createdAt),
    endedAt: timeOrEmpty(row.endedAt),
    redeliveryOf: row.redeliveryOf ?? '',
  };
}
