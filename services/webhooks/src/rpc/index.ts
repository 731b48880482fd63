import type { Implementation } from '@agent-service/contracts';
import { outboxMethods } from '@agent-service/store';
import type { WebhooksContext } from '../context.ts';
import { beginDelivery } from './begin-delivery.ts';
import { createEndpoint } from './create-endpoint.ts';
import { deleteEndpoint } from './delete-endpoint.ts';
import { endDelivery } from './end-delivery.ts';
import { listDeliveries } from './list-deliveries.ts';
import { listEndpoints } from './list-endpoints.ts';
import { receiveEvents } from './receive-events.ts';
import { redeliver } from './redeliver.ts';
import { rotateSecret } from './rotate-secret.ts';
import { testEndpoint } from './test-endpoint.ts';
import { updateEndpoint } from './update-endpoint.ts';

/** Every method of the contract, each in the file of its name. */
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
