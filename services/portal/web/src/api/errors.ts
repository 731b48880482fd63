interface ErrorEnvelope {
  error?: { code?: string; message?: string; param?: string; details?: Record<string, unknown> };
  meta?: { request_id?: string };
}

export interface FieldError {
  param: string;
  message: string;
}

/** A refusal of the API or of the portal, in the words of the service. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: Record<string, unknown>;
  readonly fields: FieldError[];
  readonly requestId: string | undefined;
  /** After how long to send the request again, where the service says so. */
  readonly retryAfterSeconds: number | undefined;

  constructor(status: number, body: ErrorEnvelope | undefined, retryAfter?: string | null) {
    super(body?.error?.message ?? defaultMessage(status));
    this.status = status;
    this.code = body?.error?.code ?? 'unknown';
    this.details = body?.error?.details ?? {};
    this.fields = fieldErrors(body);
    this.requestId = body?.meta?.request_id;
    this.retryAfterSeconds = retryAfter ? Number(retryAfter) : undefined;
  }
}

const defaultMessage = (status: number): string =>
  status === 0 ? 'The service could not be reached. Check the connection and try again.' : `The service answered with status ${status}.`;

function fieldErrors(body: ErrorEnvelope | undefined): FieldError[] {
  const { param, message = '', details } = body?.error ?? {};
  const listed = Array.isArray(details?.errors) ? (details.errors as FieldError[]) : [];
  if (listed.length > 0) return listed;
  return param ? [{ param, message }] : [];
}

/** The refusal in a reply with any content. */
export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '');
  return new ApiError(response.status, parseEnvelope(text), response.headers.get('retry-after'));
}

function parseEnvelope(text: string): ErrorEnvelope | undefined {
  try {
    return JSON.parse(text) as ErrorEnvelope;
  } catch {
    return undefined;
  }
}

/** True if nothing was done. Any other failure does not tell, and 429 may concern only the repeat of a request whose reply was lost. */
export const isRefusal = (cause: unknown): boolean =>
  cause instanceof ApiError &&
  cause.status >= 400 &&
  cause.status < 500 &&
  cause.status !== 429 &&
  cause.code !== 'idempotency_in_progress';

const isMissing = (cause: unknown): boolean => cause instanceof ApiError && cause.status === 404;

/** True if a page has to say why its subject could not be read. An earlier state of it stays on the page through any failure but 404. */
export const isLost = (cause: unknown, before: unknown): boolean => Boolean(cause) && (before === undefined || isMissing(cause));

export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : 'Something went wrong.');
