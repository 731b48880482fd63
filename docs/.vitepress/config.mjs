// The documentation as a site: npm run docs:site. The portal serves it under /docs/; everything comes from that origin.
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { defineConfig } from 'vitepress';

const docs = resolve(import.meta.dirname, '..');
const base = '/docs/';

const titleOf = (path) => /^# (.*)$/m.exec(readFileSync(join(docs, path), 'utf8'))?.[1] ?? path;
const page = (path) => ({ text: titleOf(path), link: `/${path.replace(/\.md$/, '')}` });
const pages = (...paths) => paths.map(page);
const inFolder = (folder) => globSync(`${folder}/*.md`, { cwd: docs }).sort();

const sidebar = [
  { text: 'Begin', items: pages('concepts.md', 'guides/first-agent.md') },
  {
    text: 'Guides',
    items: inFolder('guides')
      .filter((path) => !/first-agent|operating/.test(path))
      .map(page),
  },
  { text: 'Reference', items: [...inFolder('reference').map(page), page('errors.md'), page('versioning.md'), page('glossary.md')] },
  { text: 'Operations', items: [page('guides/operating.md'), ...inFolder('operations').map(page), page('encryption-keys.md')] },
  { text: 'How it works', items: pages('architecture.md', 'security.md', 'performance.md', 'scale.md', 'first-steps.md') },
  { text: 'Decisions', collapsed: true, items: inFolder('decisions').map(page) },
];

/** A link to a file or folder that is no page of this site is shown as text: the site has no address of the repository. */
function withoutOtherLinks(md) {
  md.core.ruler.push('other-links', ({ tokens, env }) => {
    for (const { children } of tokens) hideOtherLinks(children ?? [], env.path ?? '');
  });
}

function hideOtherLinks(tokens, path) {
  let isOther = false;
  for (const token of tokens) {
    if (token.type === 'link_open') isOther = isOutside(String(token.attrGet('href')), path);
    if (!isOther || !token.type.startsWith('link_')) continue;
    token.tag = 'span';
    token.attrs = null;
  }
}

function isOutside(href, from) {
  if (/^(https?:|mailto:|#)/.test(href)) return false;
  const file = resolve(dirname(from), decodeURI(href.split('#', 1)[0]));
  return relative(docs, file).startsWith('..') || !existsSync(file) || statSync(file).isDirectory();
}

/** Mermaid draws in the browser; its script is one of the site's own files. */
function withDiagrams(md) {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, index, ...rest) => {
    const { info, content } = tokens[index];
    return info.trim() === 'mermaid' ? `<Diagram code="${encodeURIComponent(content)}" />` : fence(tokens, index, ...rest);
  };
}

/** Scripts inside of a page become files, so that the page needs no exception from a content security policy. */
function withoutInlineScripts(html, outDir) {
  return html.replaceAll(/<script((?:(?! src=)[^>])*)>((?:(?!<\/script>)[\s\S])+)<\/script>/g, (_whole, attributes, code) => {
    const name = `assets/inline.${createHash('sha256').update(code).digest('hex').slice(0, 12)}.js`;
    mkdirSync(join(outDir, 'assets'), { recursive: true });
    writeFileSync(join(outDir, name), code);
    return `<script${attributes.replaceAll(/ id="[^"]*"/g, '')} src="${base}${name}"></script>`;
  });
}

export default defineConfig({
  base,
  title: 'Agent Service',
  description: 'A self-hosted, multi-tenant HTTP API for AI agents over business data',
  lang: 'en',
  metaChunk: true,
  ignoreDeadLinks: false,
  // Text such as <token> in the documents is text.
  markdown: {
    html: false,
    config(md) {
      withoutOtherLinks(md);
      withDiagrams(md);
    },
  },
  vite: {
    plugins: [
      {
        name: 'comments',
        enforce: 'pre',
        transform: (code, id) => (id.endsWith('.md') ? code.replaceAll(/^<!--.*-->$/gm, '') : undefined),
      },
    ],
    build: { chunkSizeWarningLimit: 4_000 },
  },
  transformHtml: (html, _id, { siteConfig }) => withoutInlineScripts(html, siteConfig.outDir),
  themeConfig: {
    nav: [
      { text: 'First agent', link: '/guides/first-agent' },
      { text: 'Concepts', link: '/concepts' },
      { text: 'Settings', link: '/reference/settings' },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: 'local' },
  },
});
