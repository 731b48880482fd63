import { ApiError, ConnectionError } from './errors.ts';
import type { ApiResponse } from './types.ts';
import { backoffMs, sleep } from './waiting.ts';

export interface RetryOptions {
  /** The longest pause that the service may ask for before a call fails with its error: 60 s unless given. */
  readonly maxRetryWaitMs?: number;
  /** Called before each pause. */
  readonly onRetry?: (retry: { readonly attempt: number; readonly waitMs: number; readonly error: Error }) => void;
}

export const defaultMaxRetryWaitMs = 60_000;

/** Errors that pass by themselves although their type does not say so. */
const passingCodes = new Set(['request_timeout', 'idempotency_in_progress']);
/** The statuses of proxies that pass by themselves. */
const passingStatuses = new Set([408, 425, 429, 502, 503, 504]);

interface AttemptOptions {
  readonly isDelete: boolean;
  readonly maxRetries: number;
  readonly signal: AbortSignal | undefined;
}

type Attempt = () => Promise<ApiResponse<unknown>>;

const deleted: ApiResponse<undefined> = { status: 204, headers: new Headers(), body: undefined, replayed: true };

/** Repeats a request with growing pauses while it may succeed later. */
export const createAttempts =
  ({ maxRetryWaitMs = defaultMaxRetryWaitMs, onRetry }: RetryOptions) =>
  async (once: Attempt, { isDelete, maxRetries, signal }: AttemptOptions): Promise<ApiResponse<unknown>> => {
    let isOutcomeUnknown = false;
    for (let attempt = 0; attempt < maxRetries; attempt += 1) {
      try {
        return await once();
      } catch (cause) {
        if (isDelete && isOutcomeUnknown && isMissing(cause)) return deleted;
        signal?.throwIfAborted();
        const waitMs = retryPauseMs(cause, attempt, { maxRetryWaitMs });
        if (waitMs === undefined) throw cause;
        isOutcomeUnknown ||= cause instanceof ConnectionError || isUnclear(cause);
        onRetry?.({ attempt: attempt + 1, waitMs, error: cause as Error });
        await sleep(waitMs, signal);
      }
    }
    return await once().catch((cause: unknown) => (isDelete && isOutcomeUnknown && isMissing(cause) ? deleted : Promise.reject(cause)));
  };

/** An answer that does not say if the request had its effect, as those of proxies do not. One that limits requests did not pass it on. */
const isUnclear = (cause: unknown) =>
  cause instanceof ApiError && (cause.type === 'unknown' ? cause.status !== 429 : isFailureWithin(cause));

/** The answer of a part of the service may have been lost after the effect. The type says so, also of codes that only a later version has. */
const isFailureWithin = ({ type, status }: ApiError) => type === 'internal' && status >= 500;

/** The attempt before, whose answer was lost, has deleted what is missing. */
const isMissing = (cause: unknown) => cause instanceof ApiError && cause.status === 404;

/** The pause before the next attempt; undefined where it would not help. Its random part keeps clients that were refused together apart. */
export function retryPauseMs(
  cause: unknown,
  attempt: number,
  { maxRetryWaitMs = defaultMaxRetryWaitMs }: RetryOptions,
): number | undefined {
  if (!(cause instanceof Error) || !mayPass(cause)) return undefined;
  const retryAfterMs = cause instanceof ApiError ? (cause.retryAfterSeconds ?? 0) * 1_000 : 0;
  return retryAfterMs > maxRetryWaitMs ? undefined : retryAfterMs + backoffMs(attempt);
}

/** True where the same request may succeed later. Writes carry an Idempotency-Key, so that it has no second effect. */
function mayPass(error: Error): boolean {
  if (error instanceof ConnectionError) return true;
  if (!(error instanceof ApiError)) return false;
  if (error.type === 'unknown') return passingStatuses.has(error.status);
  return passingCodes.has(error.code) || error.type === 'rate_limit' || isFailureWithin(error);
}
