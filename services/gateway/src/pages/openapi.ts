import type { Reply } from '../http/reply.ts';
import { createOpenApi } from '../openapi/document.ts';
import type { Route } from '../routes/route.ts';
import type { Page } from './page.ts';

/** The contract of the API, written on the first request for it. */
export function openapi(routes: readonly Route[], publicUrl: string): Page {
  let reply: Reply | undefined;
  return {
    path: '/openapi.json',
    answer: () =>
      (reply ??= { status: 200, body: Buffer.from(JSON.stringify(createOpenApi(routes, publicUrl))), cacheControl: 'no-cache' }),
  };
}
