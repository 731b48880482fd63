import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ServiceError } from '@agent-service/contracts';
import type { Health } from '@agent-service/runtime';
import { jsonReply, type Reply } from '../http/reply.ts';
import { pageHeaders } from '../http/security-headers.ts';
import type { Page } from '../routing/app.ts';
import type { Route } from '../routing/route.ts';
import { createOpenApi } from './document.ts';

const require = createRequire(import.meta.url);
const folder = dirname(require.resolve('swagger-ui-dist/package.json'));

const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Agent Service API</title>
<link rel="icon" type="image/png" href="docs/favicon-32x32.png">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`;

/** A file of its own, because the page's policy allows no inline script. */
const startScript = `window.addEventListener('load', () => {
  window.SwaggerUIBundle({ url: 'openapi.json', dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null });
});
`;

const scriptType = 'text/javascript; charset=utf-8';

const packaged: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': scriptType,
  'favicon-32x32.png': 'image/png',
};

const asset = (body: string | Buffer, type: string): Reply => ({
  status: 200,
  body,
  type,
  cacheControl: 'public, max-age=3600',
  security: pageHeaders,
});

/** The reference page, made of files of this machine only. */
export const docs: readonly Page[] = [
  { path: '/docs', answer: () => ({ ...asset(html, 'text/html; charset=utf-8'), cacheControl: 'no-cache' }) },
  { path: '/docs/start.js', answer: () => asset(startScript, scriptType) },
  ...Object.entries(packaged).map(([file, type]) => packagedPage(file, type)),
];

function packagedPage(file: string, type: string): Page {
  let reply: Promise<Reply> | undefined;
  const load = async () => asset(await readFile(join(folder, file)), type);
  return { path: `/docs/${file}`, answer: () => (reply ??= load()) };
}

/** The process answers at all. */
export const livez: Page = { path: '/livez', answer: () => jsonReply(200, { status: 'alive' }) };

/** The contract of the API, written on the first request for it. */
export function openapi(routes: readonly Route[], publicUrl: string): Page {
  let reply: Reply | undefined;
  return {
    path: '/openapi.json',
    answer: () =>
      (reply ??= { status: 200, body: Buffer.from(JSON.stringify(createOpenApi(routes, publicUrl))), cacheControl: 'no-cache' }),
  };
}

/** Every part that a request needs can serve; otherwise a 503 that names what cannot. */
export const readyz = (health: Health): Page => ({
  path: '/readyz',
  async answer() {
    const { ready, faults } = await health.report();
    if (!ready) throw new ServiceError('unavailable', { message: 'The service is not ready.', details: { faults } });
    return jsonReply(200, { status: 'ready' });
  },
});
