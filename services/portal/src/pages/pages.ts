import { hash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { extname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Reply } from '@agent-service/http/replies/reply';
import { securityHeaders } from '@agent-service/http/replies/security-headers';

const self = ["'self'"];
const none = ["'none'"];

const fromHere = {
  defaultSrc: none,
  scriptSrc: self,
  styleSrc: self,
  imgSrc: [...self, 'data:'],
  fontSrc: self,
  connectSrc: self,
  formAction: self,
  baseUri: none,
  frameAncestors: none,
};

/** For pages: everything from this origin, and nothing inline. */
const pageHeaders = securityHeaders(fromHere);
/** Highlighted code and diagrams of the documentation have styles inside; scripts are files here, too. */
const documentHeaders = securityHeaders({ ...fromHere, styleSrc: [...self, "'unsafe-inline'"] });

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
};
const compressed: readonly string[] = ['.html', '.js', '.css', '.json', '.svg', '.txt'];
const compress = promisify(gzip);

interface PageFile {
  readonly type: string;
  readonly etag: string;
  readonly cacheControl: string;
  readonly security: Reply['security'];
  /** The content by its coding; '' is as it is. */
  readonly contents: ReadonlyMap<'' | 'br' | 'gzip', Buffer>;
}

/** The built pages, read once: a request names none of the machine's files. */
export interface Pages {
  /** The file of a path, and the first page for every other path: its script decides what it shows. */
  answer(request: IncomingMessage): Reply;
}

const indexPath = '/index.html';

export async function loadPages(folder: string): Promise<Pages> {
  const files = await loadFiles(folder, pageHeaders);
  return {
    answer(request) {
      const path = pathOf(request);
      const isAsset = path.startsWith('/assets/');
      const file = files.get(path) ?? (isAsset ? undefined : files.get(indexPath));
      if (!file) return isAsset ? notFound : notBuilt;
      return fileReply(file, request);
    },
  };
}

const documentsBase = '/docs';

export const isDocumentPath = (url: string): boolean => /^\/docs(?:[/?]|$)/.test(url);

/** The documentation that `npm run docs:site` has built, under /docs/. */
export async function loadDocuments(folder: string): Promise<Pages> {
  const files = await loadFiles(folder, documentHeaders);
  const missing = files.get('/404.html');
  return {
    answer(request) {
      if (!missing) return documentsNotBuilt;
      const path = pathOf(request).slice(documentsBase.length);
      if (path === '') return { status: 308, headers: ['Location', `${documentsBase}/`], security: documentHeaders };
      const file = files.get(path.endsWith('/') ? `${path}index.html` : path) ?? files.get(`${path}.html`);
      return file ? fileReply(file, request) : { ...fileReply(missing, request), status: 404 };
    },
  };
}

const pathOf = ({ url = '' }: IncomingMessage): string => url.split('?', 1)[0] ?? '';

async function loadFiles(folder: string, security: Reply['security']): Promise<ReadonlyMap<string, PageFile>> {
  const files = new Map<string, PageFile>();
  for (const path of await listFiles(folder)) files.set(`/${path}`, await loadFile(folder, path, security));
  return files;
}

async function listFiles(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
    return paths.filter((path) => types[extname(path)] !== undefined);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw cause;
  }
}

/** Files that the build has compressed stand beside the plain ones. */
async function loadFile(folder: string, path: string, security: Reply['security']): Promise<PageFile> {
  const plain = await readFile(join(folder, path));
  const beside = (ending: string) => readFile(join(folder, `${path}${ending}`)).catch(() => undefined);
  const isCompressed = compressed.includes(extname(path));
  const [br, zipped] = isCompressed ? [await beside('.br'), (await beside('.gz')) ?? (await compress(plain))] : [undefined, undefined];
  return {
    type: types[extname(path)] as string,
    etag: `"${hash('sha256', plain, 'base64url').slice(0, 22)}"`,
    cacheControl: cacheControlOf(path),
    security,
    contents: new Map([['', plain], ...(br ? [['br', br] as const] : []), ...(zipped ? [['gzip', zipped] as const] : [])]),
  };
}

/** The names of assets have a hash of their content. */
function cacheControlOf(path: string): string {
  if (path.startsWith('assets/')) return 'public, max-age=31536000, immutable';
  return path.endsWith('.html') ? 'no-cache' : 'public, max-age=3600';
}

function fileReply({ type, etag, cacheControl, security, contents }: PageFile, { headers }: IncomingMessage): Reply {
  const accepted = String(headers['accept-encoding'] ?? '');
  const coding =
    (['br', 'gzip'] as const).find(
      (name) => contents.has(name) && new RegExp(`\\b${name}\\b(?!\\s*;\\s*q=0(?:\\.0*)?\\b)`).test(accepted),
    ) ?? '';
  const common = { cacheControl, security };
  const named = ['ETag', etag, ...(contents.size > 1 ? ['Vary', 'Accept-Encoding'] : [])];
  if (headers['if-none-match'] === etag) return { ...common, status: 304, headers: named };
  return {
    ...common,
    status: 200,
    type,
    body: contents.get(coding) as Buffer,
    headers: [...named, ...(coding ? ['Content-Encoding', coding] : [])],
  };
}

const text = (status: number, body: string): Reply => ({ status, body, type: 'text/plain; charset=utf-8', security: pageHeaders });
const notFound = text(404, 'There is no such file.\n');
/** Seen by readers who followed a link of the portal. */
const documentsNotBuilt: Reply = {
  status: 404,
  type: types['.html'] as string,
  security: pageHeaders,
  cacheControl: 'no-cache',
  body: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Documentation</title>
<h1>The documentation is not on this server</h1>
<p>It is in the folder <code>docs</code> of the sources. There, <code>npm run docs:site</code> builds it as a site, and the next start of the portal shows it here.</p>
<p>An image gets the built site, the folder <code>.cache/docs-site/.vitepress/dist</code>, from its operator: the setting <code>PORTAL_DOCS_DIR</code> names where it is mounted.</p>
<p><a href="/">To the portal</a></p>
</html>
`,
};
const notBuilt = text(503, 'The pages of the portal are not built here. Its API is at /api.\n');
