import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';

const root = mkdtempSync(join(tmpdir(), 'words-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));
mkdirSync(join(root, 'packages/pool/src'), { recursive: true });
writeFileSync(join(root, 'tsconfig.json'), JSON.stringify({ compilerOptions: { types: [], noEmit: true }, include: ['packages/*/src'] }));
writeFileSync(join(root, 'README.md'), 'Whoever reads this, `whoever` in code aside.\n\nWhat happens then? Of course nothing.\n');
writeFileSync(
  join(root, 'packages/pool/src/index.ts'),
  `/**
 * What is lent. Retries
 * anew.
 */
export interface Place { readonly replacement: string; readonly kept: string }
// Pools: why this is so.
const text = 'https://example.com is whoever it can not reach';
const { kept, other: found } = { kept: '', other: 'nobody' };
export const route = { description: 'Whoever calls this.', example: 'ask nobody again', pattern: /nobody anew/ };
export function standingOf(handle: string) { return [text, kept, found, handle, \`heeds \${text} of somebody\`]; }
`,
);

const script = new URL('words.mjs', import.meta.url).pathname;
const run = (...options) => spawnSync(process.execPath, [script, '--root', root, ...options], { encoding: 'utf8' }).stdout;

describe('the words script', () => {
  test('reads comments, texts and declared names, and not names that others gave, examples or code', () => {
    const found = run('packages').split('\n').slice(0, -2);
    expect(found.map((line) => line.replace(/ -> .*/, '').replace('packages/pool/src/index.ts:', ''))).toEqual([
      '2 comment "What"',
      '3 comment "anew"',
      '5 name "Place"',
      '5 name "kept"',
      '7 text "whoever"',
      '7 text "can not"',
      '8 name "found"',
      '9 text "Whoever"',
      '10 text "heeds"',
      '10 text "somebody"',
      '10 name "standingOf"',
    ]);
  });

  test('reads documents, where a question may begin with any word', () => {
    expect(run('README.md')).toMatch(/^README.md:1 document "Whoever".*\nREADME.md:3 document "Of".*\n2 findings/);
  });

  test.each([
    ['proto/pool.proto', 'syntax = "proto3"; // Whatever fits.\n// Ends calls\n// for somebody.\n', ['1 "Whatever"', '3 "somebody"']],
    ['deploy/values.yaml', 'url: "https://nobody#anybody" # of nobody\n{{- /* Another\none. */}}\n', ['1 "nobody"', '2 "Another one"']],
    ['deploy/drill.sh', '#!/bin/sh nobody\necho "meanwhile" # Meanwhile it runs.\n', ['2 "Meanwhile"']],
    ['deploy/start.mjs', "/**\n * Waits.\n *\n * Whose job it is.\n */\nfetch('https://nobody.example');\n", ['4 "Whose"']],
    ['clients/python/client.py', '"""What it takes."""\nname = "nobody"\n#: Heeds the limit.\n', ['1 "What"', '3 "Heeds"']],
  ])('reads the comments of %s, and not its code', (path, text, expected) => {
    mkdirSync(join(root, dirname(path)), { recursive: true });
    writeFileSync(join(root, path), text);
    const lines = run(path)
      .split(/\n(?=\w+\/|\d+ findings)/)
      .slice(0, -1);
    expect(
      lines.map((line) =>
        line
          .replace(/ -> .*/, '')
          .replace(`${path}:`, '')
          .replace(' comment', ''),
      ),
    ).toEqual(expected);
  });

  test('counts by area', () => {
    expect(run()).toMatch(/^packages\/pool +11 .*$/m);
  });
});
