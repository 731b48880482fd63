import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Principal } from '../callers/principal.ts';
import { ServiceError } from '../errors/service-error.ts';

/** Names an effect that the caller may ask for twice (the Idempotency-Key header). */
export interface IdempotencyKey {
  /** Tenant, credential, method, path and the caller's key, joined. */
  readonly scope: string;
  /** Hash of the body: the same key with another body is a mistake. */
  readonly fingerprint: string;
}

/** The context that travels with a request through every service. */
export interface CallContext {
  readonly requestId: string;
  readonly principal?: Principal | undefined;
  /** The gateway's signed statement of the principal, for the service that is called next. */
  readonly voucher?: string | undefined;
  /** When the caller stops waiting, by this process's monotonic clock (`performance.now()`); every further call gets what is left. */
  readonly expiresAt: number;
  readonly signal?: AbortSignal | undefined;
  readonly idempotency?: IdempotencyKey | undefined;
  /** Called when the outcome of an earlier identical request is returned instead of a new one. */
  readonly onReplayed?: (() => void) | undefined;
}

/** The principal of a call that only an authenticated caller can reach. */
export function requirePrincipal({ principal }: Pick<CallContext, 'principal'>): Principal {
  if (!principal) throw new ServiceError('internal', { cause: new Error('a call for authenticated callers ran without a principal') });
  return principal;
}

const storage = new AsyncLocalStorage<CallContext>();

export const currentCall = (): CallContext | undefined => storage.getStore();

/** Everything that the work calls inherits this context. */
export const withCall = <T>(context: CallContext, work: () => T): T => storage.run(context, work);

/** Runs work that several calls wait for, as a batch does, as a call of its own: it has neither the deadline, the principal nor the end of the first of them. */
export const callDetached = <T>(limitMs: number, work: () => Promise<T>): Promise<T> =>
  withCall({ requestId: randomUUID(), expiresAt: performance.now() + limitMs }, work);
