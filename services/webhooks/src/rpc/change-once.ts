import type { Call } from '@agent-service/contracts';
import { once, type Transaction } from '@agent-service/store';
import type { WebhooksDeps } from '../deps.ts';

/**
 * Runs an effect as `once` does, those of one organization one after the other. They wait for locks of the same rows, and each that waits
 * holds a connection that other organizations need.
 */
export const changeOnce = <Response extends object>(
  { store, changes }: WebhooksDeps,
  call: Call,
  effect: (transaction: Transaction) => Promise<Response>,
): Promise<Response> => changes.run(call.tenant.organizationId, () => once(store, call, effect), call.signal);
