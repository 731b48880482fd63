import { callers, callersAndOperators, newId, type RpcOf, ServiceError, tenantOf } from '@agent-service/contracts';
import { isoTime, lastOf, limitOf, once, writeAudit } from '@agent-service/store';
import type { WebhooksDeps } from '../deps.ts';
import { serializeEvent, testEventType } from '../domain/events.ts';
import { addDelivery, addTestEvent, countDeliveriesOf, type DeliveryRow, findRepeatable, selectDeliveries } from '../store/deliveries.ts';
import { countDeliveries } from '../store/receive.ts';
import { lockWebhook } from '../store/webhooks.ts';

export const listDeliveries = ({ store, cursors, now }: WebhooksDeps): RpcOf<'webhooks', 'listDeliveries'> => ({
  allow: callersAndOperators({ scope: 'webhooks:read' }),
  async handle({ endpointId: webhookId, page }, call) {
    const { organizationId, environment } = tenantOf(call);
    const tenant = { organizationId, environment };
    const limit = limitOf(page);
    const binding = ['webhook deliveries', organizationId, environment, webhookId];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const at = now();
    const [rows, total] = await Promise.all([
      selectDeliveries(store.sql, tenant, webhookId, { after: start?.after, limit, now: at }),
      countDeliveriesOf(store.sql, tenant, webhookId, at),
    ]);
    if (total === undefined) throw new ServiceError('not_found');
    const last = lastOf(rows, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id] }) : '';
    return { deliveries: rows.slice(0, limit).map(toDelivery), page: { total, nextCursor } };
  },
});

export const redeliver = (deps: WebhooksDeps): RpcOf<'webhooks', 'redeliver'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId: webhookId, deliveryId }, call) {
    const { months, dispatch, auditRelay, now } = deps;
    const { organizationId, environment } = tenantOf(call);
    const tenant = { organizationId, environment };
    await months.ensureCurrent(now());
    const response = await once(deps.store, call, async ({ em, sql }) => {
      const at = now();
      const webhook = await lockWebhook(em, tenant, webhookId);
      const repeatable = webhook && (await findRepeatable(sql, tenant, webhookId, deliveryId, at));
      if (!webhook || !repeatable) throw new ServiceError('not_found');
      if (!webhook.active) throw new ServiceError('webhook_inactive');
      const delivery = { ...tenant, id: newId('dlv', at), webhookId, ...repeatable, redeliveryOf: deliveryId, at };
      const row = await addDelivery(sql, delivery);
      await countDeliveries(sql, [delivery], at);
      const target = { type: 'webhook_delivery', id: deliveryId };
      const changes = { webhook_id: webhookId, new_delivery_id: row.id };
      await writeAudit(sql, call, { action: 'webhook.redelivered', ...tenant, target, changes });
      return { delivery: toDelivery(row) };
    });
    auditRelay.nudge();
    dispatch.nudge([{ ...tenant, webhookId }]);
    return response;
  },
});

export const testEndpoint = (deps: WebhooksDeps): RpcOf<'webhooks', 'testEndpoint'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId: webhookId }, call) {
    const { months, dispatch, now } = deps;
    const { organizationId, environment } = tenantOf(call);
    const tenant = { organizationId, environment };
    await months.ensureCurrent(now());
    const response = await once(deps.store, call, async ({ em, sql }) => {
      const webhook = await lockWebhook(em, tenant, webhookId);
      if (!webhook) throw new ServiceError('not_found');
      if (!webhook.active) throw new ServiceError('webhook_inactive');
      const at = now();
      const event = { id: newId('evt'), type: testEventType, createdAt: isoTime(at) };
      const data = { organization_id: organizationId, webhook_id: webhookId };
      await addTestEvent(sql, tenant, { ...event, body: serializeEvent({ ...event, data }), at });
      const of = { webhookId, eventId: event.id, eventType: event.type };
      const delivery = { ...tenant, id: newId('dlv', at), ...of, redeliveryOf: null, lastFailureAt: null, test: true, at };
      const row = await addDelivery(sql, delivery);
      await countDeliveries(sql, [delivery], at);
      return { delivery: toDelivery(row) };
    });
    dispatch.nudge([{ ...tenant, webhookId }]);
    return response;
  },
});

const pendingStates = ['waiting', 'armed'];

function toDelivery(row: DeliveryRow) {
  const status = pendingStates.includes(row.state) ? 'pending' : row.state;
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
    endedAt: row.endedAt === null ? '' : isoTime(row.endedAt),
    redeliveryOf: row.redeliveryOf ?? '',
  };
}
