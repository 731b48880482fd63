import {
  callers,
  callersAndOperators,
  checkText,
  eventTypes,
  isEventType,
  newId,
  type RpcOf,
  ServiceError,
  tenantOf,
} from '@agent-service/contracts';
import { isEmpty } from '@agent-service/contracts/changes';
import { isoTime, lastOf, limitOf, once, writeAudit } from '@agent-service/store';
import type { WebhooksDeps } from '../deps.ts';
import type { WebhookRow } from '../store/entities.ts';
import {
  addWebhook,
  changeWebhook,
  countWebhooks,
  listWebhooks,
  lockAndCountWebhooks,
  lockWebhook,
  markWebhookDeleted,
  replaceSecret,
  type WebhookChanges,
} from '../store/webhooks.ts';
import { checkSecret, makeSecret, openSecret, sealSecret } from './secrets.ts';

const maxWebhooks = 100;
const maxDescriptionLength = 2_000;
/** After a rotation the previous secret signs for this long as well. */
const previousSecretMs = 24 * 3_600_000;

export const createEndpoint = (deps: WebhooksDeps): RpcOf<'webhooks', 'createEndpoint'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle(request, call) {
    const { cipher, auditRelay, now } = deps;
    const { organizationId, environment } = tenantOf(call);
    const tenant = { organizationId, environment };
    const id = newId('whk');
    const refusal = await deps.refusalOfUrl(request.url);
    const fields = {
      url: request.url,
      events: checkEvents(request.events),
      description: checkText(request.description, 'description', { max: maxDescriptionLength }),
      active: request.active,
    };
    const sealedSecret = sealSecret(cipher, tenant, id, request.secret === undefined ? makeSecret() : checkSecret(request.secret));
    // The outcome that is stored under an Idempotency-Key has the sealed secret, and each repeated request opens it.
    const stored = await once(deps.store, call, async (transaction) => {
      checkUrl(refusal);
      if ((await lockAndCountWebhooks(transaction, tenant)) >= maxWebhooks) throw new ServiceError('webhook_limit_reached');
      const webhook = await addWebhook(transaction.em, { ...tenant, id, ...fields, sealedSecret, at: now() });
      await writeAudit(transaction.sql, call, { action: 'webhook.created', ...tenant, target: { type: 'webhook', id }, changes: fields });
      return { endpoint: toEndpointMessage(webhook), sealedSecret };
    });
    auditRelay.nudge();
    return { endpoint: stored.endpoint, secret: openSecret(cipher, tenant, stored.endpoint.id, stored.sealedSecret) };
  },
});

export const updateEndpoint = (deps: WebhooksDeps): RpcOf<'webhooks', 'updateEndpoint'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId: id, url, events, description, active }, call) {
    const { auditRelay, now } = deps;
    const { organizationId, environment } = tenantOf(call);
    const tenant = { organizationId, environment };
    const refusal = url === undefined ? undefined : await deps.refusalOfUrl(url);
    const values: WebhookChanges = {
      ...(url !== undefined && { url }),
      ...(events && { events: checkEvents(events.values) }),
      ...(description !== undefined && { description: checkText(description, 'description', { max: maxDescriptionLength }) }),
      ...(active !== undefined && { active }),
    };
    const response = await once(deps.store, call, async ({ em, sql }) => {
      checkUrl(refusal);
      const webhook = await lockWebhook(em, tenant, id);
      if (!webhook) throw new ServiceError('not_found');
      const changes = await changeWebhook(em, webhook, values, now());
      if (!isEmpty(changes))
        await writeAudit(sql, call, { action: 'webhook.updated', ...tenant, target: { type: 'webhook', id }, changes });
      return { endpoint: toEndpointMessage(webhook) };
    });
    auditRelay.nudge();
    return response;
  },
});

export const deleteEndpoint = (deps: WebhooksDeps): RpcOf<'webhooks', 'deleteEndpoint'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId: id }, call) {
    const { auditRelay, now } = deps;
    const { organizationId, environment } = tenantOf(call);
    const tenant = { organizationId, environment };
    await once(deps.store, call, async ({ em, sql }) => {
      const webhook = await lockWebhook(em, tenant, id);
      if (!webhook) throw new ServiceError('not_found');
      await markWebhookDeleted(em, webhook, now());
      await writeAudit(sql, call, { action: 'webhook.deleted', ...tenant, target: { type: 'webhook', id } });
      return {};
    });
    auditRelay.nudge();
    return {};
  },
});

export const listEndpoints = ({ store, cursors }: WebhooksDeps): RpcOf<'webhooks', 'listEndpoints'> => ({
  allow: callersAndOperators({ scope: 'webhooks:read' }),
  async handle({ page }, call) {
    const { organizationId, environment } = tenantOf(call);
    const tenant = { organizationId, environment };
    const limit = limitOf(page);
    const binding = ['webhooks', organizationId, environment];
    const start = cursors.decode(binding, page?.cursor ?? '');
    const { webhooks, total } = await store.transaction(async ({ em }) => ({
      webhooks: await listWebhooks(em, tenant, start?.after, limit),
      total: await countWebhooks(em, tenant),
    }));
    const last = lastOf(webhooks, limit);
    const nextCursor = last ? cursors.encode(binding, { after: [last.createdAt.toISOString(), last.id] }) : '';
    return { endpoints: webhooks.slice(0, limit).map(toEndpointMessage), page: { total, nextCursor } };
  },
});

export const rotateSecret = (deps: WebhooksDeps): RpcOf<'webhooks', 'rotateSecret'> => ({
  allow: callers({ scope: 'webhooks:write' }),
  async handle({ endpointId: id, secret }, call) {
    const { cipher, auditRelay, now } = deps;
    const { organizationId, environment } = tenantOf(call);
    const tenant = { organizationId, environment };
    const sealed = sealSecret(cipher, tenant, id, secret === undefined ? makeSecret() : checkSecret(secret));
    // The outcome that is stored under an Idempotency-Key has the sealed secret, and each repeated request opens it.
    const stored = await once(deps.store, call, async ({ em, sql }) => {
      const webhook = await lockWebhook(em, tenant, id);
      if (!webhook) throw new ServiceError('not_found');
      const at = now();
      const previousUntil = at + previousSecretMs;
      await replaceSecret(em, webhook, sealed, at, previousUntil);
      await writeAudit(sql, call, { action: 'webhook.secret_rotated', ...tenant, target: { type: 'webhook', id } });
      return { endpoint: toEndpointMessage(webhook), sealed, previousSecretUntil: isoTime(previousUntil) };
    });
    auditRelay.nudge();
    const { endpoint, previousSecretUntil } = stored;
    return { endpoint, previousSecretUntil, secret: openSecret(cipher, tenant, id, stored.sealed) };
  },
});

/** A webhook as the contract carries it, without its secret. */
const toEndpointMessage = (webhook: WebhookRow) => ({
  id: webhook.id,
  url: webhook.url,
  events: webhook.events,
  description: webhook.description,
  active: webhook.active,
  status: webhook.status,
  failingSince: webhook.failingSince?.toISOString() ?? '',
  lastDeliveryAt: webhook.lastDeliveryAt?.toISOString() ?? '',
  createdAt: webhook.createdAt.toISOString(),
  updatedAt: webhook.updatedAt.toISOString(),
});

const invalid = (param: string, message: string) => new ServiceError('invalid_request', { param, message: `${param} ${message}.` });

/** Runs in the transaction: a repeated request whose effect was saved gets its outcome, even if the host name now leads to an address that is refused. */
function checkUrl(refusal: string | undefined): void {
  if (refusal !== undefined) throw invalid('url', refusal);
}

/** Returns the types without duplicates, in the caller's order. */
function checkEvents(events: readonly string[]): string[] {
  if (events.length === 0) throw invalid('events', 'must name at least one type of event');
  const unknown = events.findIndex((type) => !isEventType(type));
  if (unknown >= 0) throw invalid(`events[${unknown}]`, `must be one of ${eventTypes.join(', ')}`);
  return [...new Set(events)];
}
