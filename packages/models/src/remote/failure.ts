import type { IncomingHttpHeaders } from 'node:http';
import { isJsonObject, parseJson } from './json.ts';

/** Why a call of a model gave no answer. */
type FailureKind =
  | 'rate_limited'
  | 'server_error'
  | 'timeout'
  | 'connection'
  | 'cut'
  | 'malformed'
  | 'invalid_output'
  | 'too_large'
  | 'empty'
  | 'exhausted'
  | 'denied'
  | 'refused'
  | 'filtered';

interface KindDefinition {
  /** The same call may succeed a moment later. */
  readonly isTemporary: boolean;
  /** Counts for the circuit breaker of the endpoint. */
  readonly countsAgainstEndpoint: boolean;
  readonly message: string;
}

const kinds: Record<FailureKind, KindDefinition> = {
  rate_limited: { isTemporary: true, countsAgainstEndpoint: true, message: 'limits the rate of calls' },
  server_error: { isTemporary: true, countsAgainstEndpoint: true, message: 'failed' },
  timeout: { isTemporary: true, countsAgainstEndpoint: true, message: 'took too long' },
  connection: { isTemporary: true, countsAgainstEndpoint: true, message: 'cannot be reached' },
  cut: { isTemporary: true, countsAgainstEndpoint: true, message: 'ended its answer in the middle' },
  malformed: { isTemporary: true, countsAgainstEndpoint: true, message: 'sent a malformed answer' },
  invalid_output: { isTemporary: true, countsAgainstEndpoint: false, message: 'could not read what the model wrote' },
  too_large: { isTemporary: false, countsAgainstEndpoint: false, message: 'sent too much' },
  empty: { isTemporary: true, countsAgainstEndpoint: false, message: 'answered without a text' },
  exhausted: { isTemporary: false, countsAgainstEndpoint: false, message: 'used up the length of the answer before its end' },
  denied: { isTemporary: false, countsAgainstEndpoint: true, message: 'denied access to this model' },
  refused: { isTemporary: false, countsAgainstEndpoint: false, message: 'refused the request' },
  filtered: { isTemporary: false, countsAgainstEndpoint: false, message: 'filtered the request or the answer' },
};

interface FailureFacts {
  status?: number | undefined;
  /** The code of the provider or of the system. */
  code?: string | undefined;
  /** The field of the request that the provider refused. */
  param?: string | undefined;
  retryAfterMs?: number | undefined;
}

/** A failed call of a model. Has no text of the provider and no part of the request, because errors are logged. */
export class ModelFailure extends Error {
  override name = 'ModelFailure';
  readonly kind: FailureKind;
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(kind: FailureKind, { status, code, param, retryAfterMs }: FailureFacts = {}) {
    const facts = [status, code].filter((fact) => fact !== undefined).join(' ');
    super(`The model's provider ${kinds[kind].message}${facts ? ` (${facts})` : ''}.`);
    this.kind = kind;
    this.status = status;
    this.code = code;
    this.param = param;
    this.retryAfterMs = retryAfterMs;
  }

  get isTemporary(): boolean {
    return kinds[this.kind].isTemporary;
  }

  get countsAgainstEndpoint(): boolean {
    return kinds[this.kind].countsAgainstEndpoint;
  }

  /** The provider may know the request without one of its parameters: it names no other cause. */
  get mayConcernParameters(): boolean {
    return this.kind === 'refused' && !kindOfCode.has(this.code ?? '');
  }
}

interface ErrorResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A response that is no answer, by its code or its status. */
export function statusFailure({ status, headers, body }: ErrorResponse, now: number): ModelFailure {
  const data = parseJson(body);
  const codes = codesIn(data);
  return new ModelFailure(kindIn(kindOfCode, codes) ?? kindOfStatus(status), {
    status,
    code: codes[0],
    param: paramIn(data),
    retryAfterMs: retryAfterMs(headers, now),
  });
}

/** A connection that could not be made, or ended before or within a response. */
export function connectionFailure(cause: unknown, isWithinResponse: boolean): ModelFailure {
  const code = causesOf(cause)
    .map(systemCode)
    .find((one) => one !== undefined);
  return new ModelFailure(isWithinResponse ? 'cut' : 'connection', { code });
}

/** An error that a provider reports instead of an answer, or within a stream. */
export function reportedFailure(error: unknown): ModelFailure {
  const fields = isJsonObject(error) ? error : {};
  const status = [fields['statusCode'], fields['status'], fields['code']].map(Number).find((one) => one >= 400 && one <= 599);
  const codes = codesIn(error);
  const ofStatus = status === undefined ? kindIn(kindWithoutStatus, codes) : kindOfStatus(status);
  const kind = kindIn(kindOfCode, codes) ?? ofStatus ?? 'server_error';
  return new ModelFailure(kind, { status, code: codes[0], param: paramIn(error) });
}

type KindsOfCodes = ReadonlyMap<string, FailureKind>;

const kindIn = (kinds: KindsOfCodes, codes: readonly string[]) => codes.map((code) => kinds.get(code)).find((kind) => kind !== undefined);

/** Codes that say more than the status that they come with. */
const kindOfCode: KindsOfCodes = new Map([
  ['content_filter', 'filtered'],
  ['content_policy_violation', 'filtered'],
  ['context_length_exceeded', 'refused'],
  ['string_above_max_length', 'refused'],
  ['tool_use_failed', 'invalid_output'],
  ['json_validate_failed', 'invalid_output'],
]);

/** For errors that come without a status. */
const kindWithoutStatus: KindsOfCodes = new Map([
  ['invalid_request_error', 'refused'],
  ['authentication_error', 'denied'],
  ['permission_error', 'denied'],
  ['not_found_error', 'denied'],
  ['billing_error', 'denied'],
  ['request_too_large', 'refused'],
  ['timeout_error', 'timeout'],
  ['rate_limit_error', 'rate_limited'],
  ['rate_limit_exceeded', 'rate_limited'],
]);

function kindOfStatus(status: number): FailureKind {
  if (status === 429) return 'rate_limited';
  if (status === 408) return 'timeout';
  if (status >= 500) return 'server_error';
  if (status < 300) return 'malformed';
  return [401, 402, 403, 404, 405, 410].includes(status) || status < 400 ? 'denied' : 'refused';
}

/** The chain of causes, which may be a circle. */
function causesOf(cause: unknown): Error[] {
  const chain = new Set<Error>();
  for (let one = cause; Error.isError(one) && !chain.has(one); one = one.cause) chain.add(one);
  return [...chain];
}

/** Such as ECONNREFUSED, ENOTFOUND, UND_ERR_SOCKET, HPE_INVALID_CONSTANT. */
function systemCode(error: Error): string | undefined {
  const code = 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code) ? code : undefined;
}

/** The provider's code for its failure, and the type. Longer texts are ignored, because they may repeat the request. */
function codesIn(data: unknown): string[] {
  const { code, type } = errorIn(data);
  return [code, type].filter((word): word is string => typeof word === 'string' && /^[a-z][a-z_]{2,49}$/.test(word));
}

/** The path of a field, such as `tools[0].function.name`. Other texts are ignored for the same reason. */
function paramIn(data: unknown): string | undefined {
  const { param } = errorIn(data);
  return typeof param === 'string' && /^[a-z_.[\]0-9]{1,60}$/.test(param) ? param : undefined;
}

function errorIn(data: unknown): { code?: unknown; type?: unknown; param?: unknown } {
  if (!isJsonObject(data)) return {};
  return isJsonObject(data['error']) ? data['error'] : data;
}

/** A provider and a proxy before it may both send the header. */
const firstOf = (value: string | string[] | undefined): string => [value].flat()[0] ?? '';

/** The pause of a provider's Retry-After, given as seconds or as a date; undefined if it is neither. */
export function retryAfterMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const inMs = Number(firstOf(headers['retry-after-ms']) || Number.NaN);
  if (Number.isFinite(inMs)) return Math.max(0, inMs);
  const retryAfter = firstOf(headers['retry-after']).trim();
  if (/^\d+(\.\d+)?$/.test(retryAfter)) return Number(retryAfter) * 1000;
  const date = Date.parse(retryAfter);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
