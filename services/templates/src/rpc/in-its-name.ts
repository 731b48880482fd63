import { type Call, withCall } from '@agent-service/contracts';

/**
 * Does the work as the very effect that was asked for: it is agents that keeps it under the caller's Idempotency-Key, in the
 * transaction of the agent, and a repeat gets what was kept there.
 */
export function inItsName<T>(call: Call, work: () => Promise<T>): Promise<T> {
  const { requestId, principal, voucher, expiresAt, requestedOnce: idempotency } = call;
  const onReplayed = () => {
    call.replayed = true;
  };
  return withCall({ requestId, principal, voucher, expiresAt, idempotency, onReplayed }, work);
}
