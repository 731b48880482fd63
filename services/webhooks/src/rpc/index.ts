import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { beginDelivery, endDelivery } from './attempts.ts';
import { listDeliveries, redeliver, testEndpoint } from './deliveries.ts';
import { receiveEvents } from './receive-events.ts';
import { createEndpoint, deleteEndpoint, listEndpoints, rotateSecret, updateEndpoint } from './webhooks.ts';

/** Every method of the contract. */
export const implementation = (context: WebhooksContext): Implementation<'webhooks'> => ({
  beginDelivery: beginDelivery(context),
  createEndpoint: createEndpoint(context),
  deleteEndpoint: deleteEndpoint(context),
  endDelivery: endDelivery(context),
  listDeliveries: listDeliveries(context),
  listEndpoints: listEndpoints(context),
  receiveEvents: receiveEvents(context),
  redeliver: redeliver(context),
  rotateSecret: rotateSecret(context),
  testEndpoint: testEndpoint(context),
  updateEndpoint: updateEndpoint(context),
  ...outboxMethods(context.store, () => context.auditRelay.nudge()),
});
