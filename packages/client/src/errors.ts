import type { ErrorBody, ErrorCode } from './gen/api.ts';

/** Every error that this package throws on its own behalf. A cancelled call throws the reason of its signal instead. */
export class AgentServiceError extends Error {
  override readonly name: string = 'AgentServiceError';
}

/** The parts of a refusal, for programs. */
interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly type: ErrorBody['error']['type'] | 'unknown';
  readonly field: string | null;
  readonly remedy: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | undefined;
  readonly retryAfterSeconds: number | undefined;
}

/** The service answered, and refused the request or failed at it. */
export class ApiError extends AgentServiceError implements Refusal {
  override readonly name: string = 'ApiError';
  readonly status: number;
  /** Which failure this is. Compare with this, never with the message. */
  readonly code: ErrorCode;
  readonly type: Refusal['type'];
  /** The offending field, such as `data_scope.tables[0]`. */
  readonly field: string | null;
  /** Tells people how to mend it. */
  readonly remedy: string;
  /** More for programs; several faulty fields are listed in `errors`. */
  readonly details: Readonly<Record<string, unknown>>;
  /** Names the request in the logs of the service. */
  readonly requestId: string | undefined;
  /** How long the service asks to wait. */
  readonly retryAfterSeconds: number | undefined;

  constructor(refusal: Refusal) {
    super(`${refusal.status} ${refusal.code}: ${refusal.remedy}`);
    this.status = refusal.status;
    this.code = refusal.code;
    this.type = refusal.type;
    this.field = refusal.field;
    this.remedy = refusal.remedy;
    this.details = refusal.details;
    this.requestId = refusal.requestId;
    this.retryAfterSeconds = refusal.retryAfterSeconds;
  }
}

/** No complete answer arrived. The request may have had its effect: a retry under the same Idempotency-Key is safe. */
export class ConnectionError extends AgentServiceError {
  override readonly name: string = 'ConnectionError';
}

/** The time limit of the call ended first. */
export class TimeoutError extends ConnectionError {
  override readonly name: string = 'TimeoutError';
}

/** The reason of the signal where that ended the request, and a ConnectionError for every other failure of fetch and of reading its answer. */
export function toConnectionError(cause: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (cause instanceof AgentServiceError) return cause;
  return new ConnectionError('The connection failed before the answer was complete.', { cause });
}

/** True for a refusal, with this code where one is named. */
export const isApiError = (error: unknown, code?: ErrorCode): error is ApiError =>
  error instanceof ApiError && (code === undefined || error.code === code);

export const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

/** The error that an answer describes, in the form of the API, in that of OAuth, or as a proxy wrote it. */
export function toApiError(status: number, headers: Headers, body: string): ApiError {
  const { error, error_description: description, meta } = parseObject(body);
  const common = {
    status,
    requestId: textOf(isObject(meta) ? meta['request_id'] : undefined) ?? headers.get('x-request-id') ?? undefined,
    retryAfterSeconds: retryAfterOf(headers),
  };
  if (isObject(error))
    return new ApiError({
      ...common,
      code: textOf(error['code']) ?? 'unknown',
      type: (textOf(error['type']) as Refusal['type'] | undefined) ?? 'unknown',
      field: textOf(error['param']) ?? null,
      remedy: textOf(error['message']) ?? 'The service gave no reason.',
      details: isObject(error['details']) ? error['details'] : {},
    });
  const plain = { type: 'unknown', field: null, details: {} } as const;
  if (textOf(error)) return new ApiError({ ...common, ...plain, code: String(error), remedy: textOf(description) ?? String(error) });
  if (status === 304)
    return new ApiError({
      ...common,
      ...plain,
      code: 'not_modified',
      remedy: 'The resource is unchanged: its ETag is one that If-None-Match names.',
    });
  return new ApiError({
    ...common,
    ...plain,
    code: 'unknown',
    remedy: redirectRemedy(status, headers) ?? `The answer has no error of the API: ${body.slice(0, 200)}`,
  });
}

/** Undefined for an answer that is no redirect. A page does not see where one leads, nor its status. */
function redirectRemedy(status: number, headers: Headers): string | undefined {
  const target = headers.get('location');
  if (status !== 0 && (target === null || status < 300 || status > 399)) return undefined;
  return `The address redirects${target === null ? '' : ` to ${target}`}. Give that of the service itself as baseUrl.`;
}

/** Empty for a text that is no object. */
export function parseObject(body: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Seconds from now, also where a proxy wrote a date. Undefined for text that is neither. */
function retryAfterOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after');
  if (text === null || text.trim() === '') return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds);
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - Date.now()) / 1_000);
}
