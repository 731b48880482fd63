import type { HeaderName } from '../routing/route.ts';

const header = (description: string, example: string, type: 'string' | 'integer' = 'string') => ({
  description,
  schema: { type, ...(type === 'integer' && { format: 'int64' }) },
  example: type === 'integer' ? Number(example) : example,
});

/** Headers of responses, by the names under which operations refer to them. */
export const sharedHeaders = {
  RequestId: header(
    'The id of this request: the caller’s own `X-Request-Id` where it was valid, else a new one.',
    '4f3c1f6e-0a55-4c1e-8c53-0a5fbb1e4f0d',
  ),
  RateLimitPolicy: header(
    'The limits that this request counted against (IETF draft).',
    '"reads";q=600;w=60, "organization-reads";q=3000;w=60',
  ),
  RateLimit: header(
    'The rest of each limit, and the seconds until it begins again (IETF draft).',
    '"reads";r=599;t=60, "organization-reads";r=2999;t=60',
  ),
  RateLimitLimit: header('The nearest of these limits.', '600', 'integer'),
  RateLimitRemaining: header('The rest of the nearest limit.', '599', 'integer'),
  RateLimitReset: header('When the nearest limit begins again, in seconds since 1970.', '1767225660', 'integer'),
  RetryAfter: header('Seconds to wait before another attempt.', '1', 'integer'),
  WwwAuthenticate: header(
    'How to authenticate, or which scope is missing (RFC 6750).',
    'Bearer realm="agent-service", error="invalid_token"',
  ),
  ETag: header('The version of what is described, for If-Match and If-None-Match.', '"2"'),
  Location: header('Where the message can be read.', '/v1/agents/agt_01jz0000000000000000000000/messages/msg_01jz0000000000000000000000'),
  ContentLocation: header(
    'Where the message can be read.',
    '/v1/agents/agt_01jz0000000000000000000000/messages/msg_01jz0000000000000000000000',
  ),
  PreferenceApplied: header('The preference that was honoured.', 'respond-async'),
  IdempotentReplayed: header('`true` when this is the outcome of an earlier identical request.', 'true'),
};

const reference = (name: keyof typeof sharedHeaders) => ({ $ref: `#/components/headers/${name}` as const });

export const requestIdHeader = { 'X-Request-Id': reference('RequestId') };

export const limitHeaders = {
  'RateLimit-Policy': reference('RateLimitPolicy'),
  RateLimit: reference('RateLimit'),
  'X-RateLimit-Limit': reference('RateLimitLimit'),
  'X-RateLimit-Remaining': reference('RateLimitRemaining'),
  'X-RateLimit-Reset': reference('RateLimitReset'),
};

/** Described where they are, because most documents have no deprecated operation. */
export const deprecationHeaders = {
  Deprecation: header('Since when callers should use another operation, in seconds since 1970 (RFC 9745).', '@1796083200'),
  Sunset: header('From when on the operation may be gone (RFC 8594).', 'Tue, 01 Jun 2027 00:00:00 GMT'),
  Link: header('Where the replacement is described.', '<https://example.com/changes>; rel="deprecation"; type="text/html"'),
};

export const replayedHeader = { 'Idempotent-Replayed': reference('IdempotentReplayed') };

const headersByName = {
  ETag: 'ETag',
  Location: 'Location',
  'Content-Location': 'ContentLocation',
  'Preference-Applied': 'PreferenceApplied',
  'Retry-After': 'RetryAfter',
} as const satisfies Record<HeaderName, keyof typeof sharedHeaders>;

export const namedHeaders = (names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, reference(headersByName[name])]));

/** Headers of an error of this status beyond the common ones. */
export function errorHeaders(status: number) {
  if (status === 401 || status === 403) return { 'WWW-Authenticate': reference('WwwAuthenticate') };
  return status === 429 || status === 503 ? { 'Retry-After': reference('RetryAfter') } : {};
}
