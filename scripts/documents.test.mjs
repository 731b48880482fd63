// The documents name files and functions; a reader has to find them. Links, commands and code are checked by scripts/docs.mjs.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

const documents = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md')];
const textOf = new Map(documents.map((path) => [path, readFileSync(path, 'utf8')]));
/** Folders that a command creates. */
const createdFolders = ['bench/results/'];

test.each(['README.md', 'CONTRIBUTING.md', 'docs/architecture.md', 'docs/errors.md'])('every path that %s names exists', (path) => {
  const paths = [...(textOf.get(path) ?? '').matchAll(/`((?:packages|services|scripts|docs|proto|bench|test)\/[\w./-]+)`/g)];
  expect(paths.map(([, name]) => name).filter((name) => !createdFolders.includes(name) && !existsSync(name))).toEqual([]);
});

const files = globSync('{packages,services,scripts,docs,proto,bench,test,deploy,.ci}/**/*', {
  exclude: (name) => /node_modules|\bgen$/.test(String(name)),
}).map((path) => `/${path}`);

// A document may leave out the beginning of a path, as in `rpc/index.ts` or `gates/parse.ts`; <name> and * stand for any name.
test.each(['README.md', 'CONTRIBUTING.md', 'docs/architecture.md', 'docs/errors.md', 'docs/glossary.md', 'docs/performance.md'])(
  'every file that %s names by a part of its path exists',
  (path) => {
    const named = [...(textOf.get(path) ?? '').matchAll(/`([\w<>*./-]+\.(?:ts|mjs|proto))`/g)].map(([, name]) => name);
    const pattern = (name) => new RegExp(`/${name.replaceAll('.', '\\.').replaceAll(/<\w+>|\*/g, '[^/]+')}$`);
    expect(named.filter((name) => !files.some((file) => pattern(name).test(file)))).toEqual([]);
  },
);

test('each file in "Where things are" contains the name in parentheses behind it', () => {
  const section = (textOf.get('docs/architecture.md') ?? '').split('## Where things are')[1]?.split('\n## ')[0] ?? '';
  const named = [...section.matchAll(/`([\w./-]+)` \(`(\w+)`\)/g)];
  expect(named.length).toBeGreaterThan(10);
  const missing = named.filter(([, path, name]) => {
    const files = existsSync(path) && statSync(path).isFile() ? readFileSync(path, 'utf8') : '';
    return !new RegExp(`\\b(const|function|class|interface|type) ${name}\\b`).test(files);
  });
  expect(missing.map(([entry]) => entry)).toEqual([]);
});

test('decision records have unique numbers, and titles that begin with them', () => {
  const records = globSync('docs/decisions/*.md').sort();
  const numbers = records.map((path) => /\/(\d{4})-/.exec(path)?.[1]);
  expect(new Set(numbers).size).toBe(records.length);
  expect(records.filter((path, index) => !new RegExp(`^# 0*${Number(numbers[index])}[:.]? `).test(textOf.get(path) ?? ''))).toEqual([]);
});

describe('the operations guide', () => {
  const guides = globSync('docs/operations/*.md').map((path) => textOf.get(path) ?? '');
  const sources = [
    ...globSync('{packages,services}/*/src/**/*.ts'),
    ...globSync('deploy/**/*.{yaml,tpl,sh,mjs}'),
    'docker-compose.yml',
    'deploy/Dockerfile',
  ]
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
  const namesIn = (pattern) => [...new Set(guides.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name)))];

  test('names settings that exist', () => {
    const names = namesIn(/`([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g);
    expect(names.length).toBeGreaterThan(20);
    // Services' own names of settings are made of a prefix.
    const isKnown = (name) => sources.includes(name) || sources.includes(name.replace(/^(IDENTITY|CREDITS|AGENTS|WEBHOOKS)_/, ''));
    expect(names.filter((name) => !isKnown(name))).toEqual([]);
  });

  test('names drills and long forms that exist', () => {
    const forms = readFileSync('scripts/test-long.mjs', 'utf8');
    const named = namesIn(/npm run test:long -- ([a-z -]+)/g).flatMap((names) => names.trim().split(' '));
    expect(named.filter((name) => !new RegExp(`\n  '?${name}'?: {`).test(forms))).toEqual([]);
    expect(namesIn(/`(deploy\/[\w./-]+)`/g).filter((path) => !existsSync(path))).toEqual([]);
  });
});
