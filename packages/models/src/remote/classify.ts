import { APICallError } from '@ai-sdk/provider';
import { type FailureKind, ModelFailure } from './failure.ts';
import { retryAfterMs } from './retry-after.ts';

/** What anything thrown by a provider's client means. */
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
