import { APICallError } from '@ai-sdk/provider';

/** Why a call of a model gave no answer. */
type FailureKind =
  | 'rate_limited'
  | 'server_error'
  | 'timeout'
  | 'connection'
  | 'cut'
  | 'malformed'
  | 'too_large'
  | 'empty'
  | 'exhausted'
  | 'denied'
  | 'refused'
  | 'filtered';

interface KindDefinition {
  /** The same call may succeed in a moment. */
  readonly mayPass: boolean;
  /** Speaks against the endpoint, not only against this request. */
  readonly countsAgainstEndpoint: boolean;
  readonly message: string;
}

const kinds: Record<FailureKind, KindDefinition> = {
  rate_limited: { mayPass: true, countsAgainstEndpoint: true, message: 'limits the rate of calls' },
  server_error: { mayPass: true, countsAgainstEndpoint: true, message: 'failed' },
  timeout: { mayPass: true, countsAgainstEndpoint: true, message: 'took too long' },
  connection: { mayPass: true, countsAgainstEndpoint: true, message: 'cannot be reached' },
  cut: { mayPass: true, countsAgainstEndpoint: true, message: 'ended its answer in the middle' },
  malformed: { mayPass: true, countsAgainstEndpoint: true, message: 'answered with what is no answer' },
  too_large: { mayPass: false, countsAgainstEndpoint: false, message: 'sent too much' },
  empty: { mayPass: true, countsAgainstEndpoint: false, message: 'answered without a text' },
  exhausted: { mayPass: false, countsAgainstEndpoint: false, message: 'used up the length of the answer without a text' },
  denied: { mayPass: false, countsAgainstEndpoint: true, message: 'does not let us use this model' },
  refused: { mayPass: false, countsAgainstEndpoint: false, message: 'refused the request' },
  filtered: { mayPass: false, countsAgainstEndpoint: false, message: 'filtered the answer' },
};

interface FailureFacts {
  status?: number | undefined;
  /** The provider's or the system's own word for it. */
  code?: string | undefined;
  retryAfterMs?: number | undefined;
}

/** Carries no text of the provider and nothing of the request, because errors are logged. */
export class ModelFailure extends Error {
  override name = 'ModelFailure';
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, { status, code, retryAfterMs }: FailureFacts = {}) {
    const facts = [status, code].filter((fact) => fact !== undefined).join(' ');
    super(`The model's provider ${kinds[kind].message}${facts ? ` (${facts})` : ''}.`);
    this.kind = kind;
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }

  get mayPass(): boolean {
    return kinds[this.kind].mayPass;
  }

  get countsAgainstEndpoint(): boolean {
    return kinds[this.kind].countsAgainstEndpoint;
  }
}

/** Classifies an error of a provider's client. */
export function classify(cause: unknown, now: number): ModelFailure {
  const chain = causesOf(cause);
  const known = chain.find((one) => one instanceof ModelFailure);
  if (known) return known;
  const call = chain.find((one) => APICallError.isInstance(one));
  if (call?.statusCode !== undefined && !isGood(call.statusCode))
    return new ModelFailure(kindOfStatus(call.statusCode), {
      status: call.statusCode,
      code: wordIn(call.data),
      retryAfterMs: retryAfterMs(call.responseHeaders ?? {}, now),
    });
  const code = chain.map(systemCode).find((one) => one !== undefined);
  if (code !== undefined) return new ModelFailure(call?.statusCode === undefined ? 'connection' : 'cut', { code });
  return new ModelFailure('malformed', { status: call?.statusCode, code: chain[0]?.name });
}

/** An error that a provider sent inside the stream of an answer. */
export function classifyStreamed(error: unknown, now: number): ModelFailure {
  if (Error.isError(error)) return classify(error, now);
  const given = isRecord(error) ? error : {};
  const status = [given['statusCode'], given['status'], given['code']].map(Number).find((one) => one >= 400 && one <= 599);
  const code = wordIn(error);
  if (status !== undefined) return new ModelFailure(kindOfStatus(status), { status, code });
  return new ModelFailure(kindOfWord[code ?? ''] ?? 'server_error', { code });
}

const kindOfWord: Readonly<Record<string, FailureKind>> = {
  invalid_request_error: 'refused',
  authentication_error: 'denied',
  permission_error: 'denied',
  not_found_error: 'denied',
  rate_limit_error: 'rate_limited',
  rate_limit_exceeded: 'rate_limited',
  content_filter: 'filtered',
};

const isGood = (status: number) => status >= 200 && status < 300;

function kindOfStatus(status: number): FailureKind {
  if (status === 429) return 'rate_limited';
  if (status === 408) return 'timeout';
  if (status >= 500) return 'server_error';
  return [401, 402, 403, 404, 405, 410].includes(status) || status < 400 ? 'denied' : 'refused';
}

/** Errors may be each other's causes in a circle. */
function causesOf(cause: unknown): Error[] {
  const chain = new Set<Error>();
  for (let one = cause; Error.isError(one) && !chain.has(one); one = one.cause) chain.add(one);
  return [...chain];
}

/** As ECONNREFUSED, ENOTFOUND, UND_ERR_SOCKET, HPE_INVALID_CONSTANT. */
function systemCode(error: Error): string | undefined {
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : undefined;
}

/** The provider's own short word for its failure, if it is one: sentences may repeat what was sent to it. */
function wordIn(data: unknown): string | undefined {
  if (!isRecord(data)) return undefined;
  const error = isRecord(data['error']) ? data['error'] : data;
  return [error['code'], error['type']].find((word): word is string => typeof word === 'string' && /^[a-z][a-z_]{2,49}$/.test(word));
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** The pause of a provider's Retry-After, given as seconds or as a date; undefined if it is neither. */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const inMs = Number(headers['retry-after-ms'] || Number.NaN);
  if (Number.isFinite(inMs)) return Math.max(0, inMs);
  const given = headers['retry-after']?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(given)) return Number(given) * 1000;
  const date = Date.parse(given);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
