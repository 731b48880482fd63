import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ServiceError } from '@agent-service/contracts';
import type { Page } from '@agent-service/http/app';
import type { Exchange } from '@agent-service/http/replies/exchange';
import { jsonReply, type Reply } from '@agent-service/http/replies/reply';
import type { Health } from '@agent-service/runtime';
import type { Route } from '../routing/route.ts';
import { parseEntityTags } from '../schemas/conditions.ts';
import { createOpenApi } from './document.ts';
import { readRenderer, referencePage, startScript } from './reference-page.ts';

const scriptType = 'text/javascript; charset=utf-8';
const fileParts = { cacheControl: 'public, max-age=3600' };

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0f62fe"/><path d="M9 12h14M9 16h14M9 20h8" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>';

/** The reference page, made of files of this machine only. */
export const docs: readonly Page[] = [
  referencePage,
  fixedPage('/docs/start.js', () => startScript, { ...fileParts, type: scriptType }),
  fixedPage('/docs/renderer.js', readRenderer, { ...fileParts, type: scriptType }),
  fixedPage('/docs/icon.svg', () => icon, { ...fileParts, type: 'image/svg+xml' }),
];

interface Representation {
  readonly body: Buffer;
  /** Each encoding has a tag of its own. */
  readonly etag: string;
  readonly headers: readonly string[];
}

/** A page that stays the same while the process runs: made and compressed on the first request, and sent to a caller that does not have it. */
export function fixedPage(path: string, load: () => string | Buffer | Promise<string | Buffer>, parts: Partial<Reply>): Page {
  let representations: Promise<Record<'identity' | 'gzip', Representation>> | undefined;
  // The next request loads again: a file may not open while the process has no free descriptor.
  const forget = (cause: unknown) => {
    representations = undefined;
    throw cause;
  };
  return {
    path,
    async answer({ request }: Exchange) {
      const current = await (representations ??= represent(load).catch(forget));
      const { body, etag, headers } = current[request.acceptsEncodings(['gzip', 'identity']) === 'gzip' ? 'gzip' : 'identity'];
      const common = { ...parts, headers: ['ETag', etag, 'Vary', 'Accept-Encoding'] };
      const known = parseEntityTags(request.get('if-none-match') ?? '');
      if (known && (known.any || known.tags.some(({ value }) => `"${value}"` === etag))) return { ...common, status: 304 };
      return { ...common, status: 200, body, headers: [...common.headers, ...headers] };
    },
  };
}

async function represent(load: () => string | Buffer | Promise<string | Buffer>) {
  const whole = Buffer.from(await load());
  const hash = createHash('sha256').update(whole).digest('base64url').slice(0, 22);
  const compressed = await promisify(gzip)(whole);
  return {
    identity: { body: whole, etag: `"${hash}"`, headers: [] },
    gzip: { body: compressed, etag: `"${hash}-gzip"`, headers: ['Content-Encoding', 'gzip'] },
  };
}

/** For liveness probes: 200 whenever the process answers requests, whether or not it can serve them. */
export const livez: Page = { path: '/livez', answer: () => jsonReply(200, { status: 'alive' }) };

/** The contract of the API, written on the first request for it. */
export const openapi = (routes: readonly Route[], publicUrl: string): Page =>
  fixedPage('/openapi.json', () => JSON.stringify(createOpenApi(routes, publicUrl)), { cacheControl: 'no-cache' });

/** Every part that a request needs can serve; otherwise a 503 that names what cannot. Why is for operators: causes name addresses and files. */
export const readyz = (health: Health): Page => ({
  path: '/readyz',
  async answer() {
    const { ready, faults } = await health.report();
    const failed = Object.fromEntries(Object.keys(faults).map((name) => [name, 'failed']));
    if (!ready) throw new ServiceError('unavailable', { message: 'The service is not ready.', details: { faults: failed } });
    return jsonReply(200, { status: 'ready' });
  },
});
