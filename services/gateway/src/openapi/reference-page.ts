import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { runInNewContext } from 'node:vm';
import type { Page } from '@agent-service/http/app';
import { securityHeaders } from '@agent-service/http/replies/security-headers';

const require = createRequire(import.meta.url);
const module = '@scalar/fastify-api-reference';

const placeholder = 'nonce-of-the-page';

/** Everything from here; the renderer adds its styles by script, with the nonce of the page. */
const policy = securityHeaders({
  defaultSrc: ["'none'"],
  scriptSrc: ["'self'"],
  styleSrc: ["'self'", `'nonce-${placeholder}'`],
  imgSrc: ["'self'", 'data:'],
  fontSrc: ["'self'"],
  connectSrc: ["'self'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
});

const html = (nonce: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta property="csp-nonce" content="${nonce}">
<title>Agent Service API</title>
<link rel="icon" type="image/svg+xml" href="docs/icon.svg">
</head>
<body>
<div id="reference"></div>
<script src="docs/start.js"></script>
<script src="docs/renderer.js"></script>
</body>
</html>
`;

/** Without the parts that would reach another host: fonts, telemetry and the assistants of the renderer's maker. */
const settings = {
  url: 'openapi.json',
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: 'never',
  // Operations have samples for our clients of their own.
  hiddenClients: true,
  authentication: { preferredSecurityScheme: 'bearer' },
};

/**
 * A file of its own, because the page's policy allows no inline script. Style elements that scripts of the page make get its nonce: the
 * renderer's editor does not know of it.
 */
export const startScript = `const { content: nonce } = document.querySelector('meta[property="csp-nonce"]');
const createElement = document.createElement.bind(document);
document.createElement = (name, ...options) => {
  const element = createElement(name, ...options);
  if (element instanceof HTMLStyleElement) element.nonce = nonce;
  return element;
};
window.addEventListener('load', () => window.Scalar.createApiReference('#reference', ${JSON.stringify(settings)}));
`;

/** The reference page, with a nonce of its own each time. */
export const referencePage: Page = {
  path: '/docs',
  answer: () => {
    const nonce = randomBytes(16).toString('base64');
    const security = policy.map((part) => part.replace(placeholder, nonce));
    return { status: 200, body: html(nonce), type: 'text/html; charset=utf-8', security, cacheControl: 'no-cache' };
  },
};

const literal = /^var standalone_default = (".*");?$/m;

/** The renderer's bundle. Its package for servers holds it as a text, and needs a tenth of the space of the package that it is made from. */
export async function readRenderer(): Promise<string> {
  const source = await readFile(require.resolve(module), 'utf8');
  const text = literal.exec(source)?.[1];
  if (text === undefined) throw new Error(`${module} no longer holds the renderer as a text`);
  return runInNewContext(text) as string;
}
