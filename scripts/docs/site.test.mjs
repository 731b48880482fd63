// The site has a page for each document, and takes everything from its own origin.
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { readDocuments } from './blocks.mjs';
import { diagramFaults } from './faults.mjs';

const built = '.cache/docs-site/.vitepress/dist';
const isLong = process.env.DOCUMENTS === 'long';

// Building takes a minute, so only the long form does it.
(isLong ? test : test.skip)(
  'every document is a page without scripts inside or files of other origins',
  () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['scripts/docs/site.mjs'], { encoding: 'utf8' });
    expect([status, `${stdout}${stderr}`]).toEqual([0, expect.any(String)]);
    const documents = globSync('**/*.md', { cwd: 'docs' });
    expect(documents.filter((path) => !existsSync(join(built, path.replace(/\.md$/, '.html'))))).toEqual([]);
    for (const page of globSync('**/*.html', { cwd: built })) {
      const html = readFileSync(join(built, page), 'utf8');
      expect([
        page,
        [...html.matchAll(/<script(?![^>]* src=)[^>]*>|(?:src|href)="https?:[^"]*\.(?:js|css|woff2?)"/g)].map(([found]) => found),
      ]).toEqual([page, []]);
    }
  },
  600_000,
);

(isLong ? test : test.skip)('every diagram is one of Mermaid, and another text is not', () => {
  expect(diagramFaults(readDocuments())).toEqual({ faults: [] });
  const fence = '```';
  const { faults } = diagramFaults(new Map([['a.md', `${fence}mermaid\nflowchart LR\n  a[x<br/>y] -->|HTTP} b\n${fence}\n`]]));
  expect(faults).toEqual([expect.stringMatching(/^a\.md:1: Parse error on line 2/)]);
});
