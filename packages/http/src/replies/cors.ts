import type { IncomingMessage } from 'node:http';

/** Lets pages of the operator's origins call the API from a browser. */
export interface Cors {
  /** The headers of a reply to this request, names and values in turn. */
  headersFor(request: IncomingMessage): readonly string[];
  /** The headers of the reply to a preflight request for a path with these methods; undefined if it is none, or of another origin. */
  preflightHeaders(request: IncomingMessage, methods: string): readonly string[] | undefined;
}

/** Every header that a route reads. Credentials travel in Authorization, so the API needs no cookies and never allows them. */
const readHeaders = [
  'Accept',
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'Last-Event-ID',
  'Prefer',
  'Traceparent',
  'X-Request-Id',
].join(', ');

/** Every header of a reply that a page has a use for. */
const exposedHeaders = [
  'Content-Location',
  'Deprecation',
  'ETag',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'Preference-Applied',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'Sunset',
  'WWW-Authenticate',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'X-Request-Id',
].join(', ');

/** The longest time for which browsers keep the reply to a preflight request. */
const keepSeconds = '7200';

const varyByOrigin = ['Vary', 'Origin'] as const;
const none: readonly string[] = [];

/** CORS for these origins; without any, no reply changes. */
export function createCors(origins: readonly string[]): Cors {
  const headersOf = new Map(
    origins.map((origin) => [
      origin,
      ['Access-Control-Allow-Origin', origin, 'Access-Control-Expose-Headers', exposedHeaders, ...varyByOrigin],
    ]),
  );
  return {
    headersFor: ({ headers }) => (headersOf.size === 0 ? none : (headersOf.get(headers.origin ?? '') ?? varyByOrigin)),
    preflightHeaders({ method, headers }, methods) {
      const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
      if (!isPreflight || !headersOf.has(headers.origin ?? '')) return undefined;
      return [
        ...['Access-Control-Allow-Methods', methods, 'Access-Control-Allow-Headers', readHeaders],
        ...['Access-Control-Max-Age', keepSeconds],
      ];
    },
  };
}

/** Browsers send an origin in exactly this form. Throws an error whose message says what is wrong. */
export function parseOrigins(entries: readonly string[]): string[] {
  for (const entry of entries) {
    if (entry === '*') throw new Error('must name each origin, as https://app.example.com; * is refused');
    const url = URL.parse(entry);
    if (!url || !['http:', 'https:'].includes(url.protocol) || url.origin !== entry)
      throw new Error('must be origins without a path, in lower case, as https://app.example.com or http://localhost:3000');
  }
  return [...new Set(entries)];
}
