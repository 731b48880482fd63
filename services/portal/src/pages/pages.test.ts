import { mkdirSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join, relative } from 'node:path';
import { testFolder } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { isDocumentPath, loadDocuments } from './pages.ts';

const request = (url: string) => ({ url, headers: {} }) as IncomingMessage;

test.each([
  ['', (folder: string) => folder],
  [', from a relative folder', (folder: string) => `./${relative('.', folder)}/`],
])('the documentation is served below /docs/, with a page of its own for unknown paths%s', async (_, written) => {
  const folder = await testFolder();
  mkdirSync(join(folder, 'guides'));
  for (const path of ['index.html', '404.html', 'guides/a.html']) writeFileSync(join(folder, path), path);
  const documents = await loadDocuments(written(folder));
  const answer = (url: string) => {
    const { status, body } = documents.answer(request(url));
    return [status, body?.toString()];
  };
  expect(answer('/docs/')).toEqual([200, 'index.html']);
  expect(answer('/docs/guides/a')).toEqual([200, 'guides/a.html']);
  expect(answer('/docs/guides/a.html?x')).toEqual([200, 'guides/a.html']);
  expect(answer('/docs/../secret')).toEqual([404, '404.html']);
  expect(documents.answer(request('/docs')).headers).toEqual(['Location', '/docs/']);
  expect(documents.answer(request('/docs/')).security?.join(' ')).toMatch(/script-src 'self';/);
});

test('without a built site a page says how an operator gets it', async () => {
  const documents = await loadDocuments(join(await testFolder(), 'none'));
  const { status, type, body } = documents.answer(request('/docs/'));
  expect([status, type]).toEqual([404, 'text/html; charset=utf-8']);
  for (const part of ['npm run docs:site', 'PORTAL_DOCS_DIR', '<a href="/">']) expect(body).toContain(part);
});

test.each([
  ['/docs', true],
  ['/docs/x', true],
  ['/docs?x', true],
  ['/docsx', false],
  ['/', false],
])('%s belongs to the documentation: %s', (url, expected) => {
  expect(isDocumentPath(url)).toBe(expected);
});
