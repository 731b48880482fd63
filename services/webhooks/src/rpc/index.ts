import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { WebhooksDeps } from '../deps.ts';
import { beginDelivery, endDelivery } from './attempts.ts';
import { listDeliveries, redeliver, testEndpoint } from './deliveries.ts';
import { receiveEvents } from './receive-events.ts';
import { createEndpoint, deleteEndpoint, listEndpoints, rotateSecret, updateEndpoint } from './webhooks.ts';

/** Every method of the contract. */
export const implementation = (deps: WebhooksDeps): Implementation<'webhooks'> => ({
  beginDelivery: beginDelivery(deps),
  createEndpoint: createEndpoint(deps),
  deleteEndpoint: deleteEndpoint(deps),
  endDelivery: endDelivery(deps),
  listDeliveries: listDeliveries(deps),
  listEndpoints: listEndpoints(deps),
  receiveEvents: receiveEvents(deps),
  redeliver: redeliver(deps),
  rotateSecret: rotateSecret(deps),
  testEndpoint: testEndpoint(deps),
  updateEndpoint: updateEndpoint(deps),
  ...outboxMethods(deps.store, () => deps.auditRelay.nudge()),
});
