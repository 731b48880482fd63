import { expect, test } from '@jest/globals';
import { blocksOf, proseOf } from './blocks.mjs';
import { findFaults } from './faults.mjs';

const fence = '```';
const faulty = `# A document

[nowhere](missing.md) [no heading](#missing) [a heading](#a-document) and \`npm run missing\`.

${fence}sh
npm run --silent admin -- key create --colour blue
npm run --silent admin -- key paint
npm run --silent admin -- key revoke --key ID
npm run test:long -- missing
node scripts/missing.mjs
if
${fence}

${fence}ts
const text: string = 1;
${fence}

${fence}json
{ "a": }
${fence}

${fence}text output
nothing ran
${fence}
`;

test('links, commands and code that do not exist or compile are named with their document', () => {
  const { faults } = findFaults(new Map([['docs/faulty.md', faulty]]));
  for (const part of [
    '[nowhere]',
    '](missing.md)',
    '](#missing)',
    '"npm run missing"',
    'key create --colour',
    'admin -- key paint',
    'test:long -- missing',
  ])
    expect([part, part.startsWith('[') || faults.some((fault) => fault.includes(part))]).toEqual([part, true]);
  expect(faults.filter((fault) => fault.includes('leads nowhere'))).toHaveLength(2);
  expect(faults).toContain('docs/faulty.md: there is no command "node scripts/missing.mjs"');
  expect(faults.find((fault) => fault.includes('TS2322'))).toMatch(/^docs\/faulty\.md:15: /);
  expect(faults.find((fault) => fault.includes('syntax error'))).toMatch(/^docs\/faulty\.md:5: /);
  expect(faults.some((fault) => fault.startsWith('docs/faulty.md:18: '))).toBe(true);
  expect(faults).toContain('docs/faulty.md:22: an output without a block that is run before it');
  expect(faults.join('\n')).not.toMatch(/key revoke|a-document/);
}, 120_000);

test('blocks keep their marks and lines, and prose keeps its lines', () => {
  const [shell, code] = blocksOf(faulty);
  expect([shell?.language, shell?.marks, shell?.line, code?.content]).toEqual(['sh', [], 5, 'const text: string = 1;']);
  expect(proseOf(faulty).split('\n')).toHaveLength(faulty.split('\n').length);
  expect(proseOf(faulty)).not.toContain('key paint');
});
