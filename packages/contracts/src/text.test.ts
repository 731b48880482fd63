import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { firstBytes, firstCharacters } from './strings.ts';
import { fencedBlock } from './text.ts';

const anyText = fc.string({ unit: 'grapheme', maxLength: 50 });

test('the beginning of a text has whole characters only, as many as fit', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 0, max: 100 }), (text, max) => {
      const characters = firstCharacters(text, max);
      expect([...characters]).toEqual([...text].slice(0, max));
      const bytes = firstBytes(text, max);
      expect(text.startsWith(bytes) && bytes.isWellFormed()).toBe(true);
      expect(Buffer.byteLength(bytes)).toBeLessThanOrEqual(max);
      const next = [...text].at([...bytes].length);
      if (next !== undefined) expect(Buffer.byteLength(bytes + next)).toBeGreaterThan(max);
    }),
  );
  expect([firstCharacters('a😀b', 2), firstBytes('a😀b', 4), firstBytes('a😀b', 5)]).toEqual(['a😀', 'a', 'a😀']);
});

const fence = '`'.repeat(3);
const json = [/```(?:json)?[ \t]*\n/i, /^[ \t]*```/] as const;

test('a fenced block is the text between its first line and the first fence behind it', () => {
  expect(fencedBlock(`Here:\n${fence}json\n{"a":\n1}\n  ${fence} and ${fence}json\n2\n${fence}`, ...json)).toBe('{"a":\n1}');
  expect(fencedBlock(`${fence}JSON \t\n1\n${fence}`, ...json)).toBe('1');
  for (const text of ['', 'none', `${fence}sql\n1\n${fence}`, `${fence}json\n1`, `${fence}json 1\n${fence}`])
    expect(fencedBlock(text, ...json)).toBeUndefined();
});

test('openings that nothing closes, with as many blanks behind them as a model can write, are read once', () => {
  const hostile = `${`x${fence}\n`.repeat(50_000)}${' '.repeat(800_000)}`;
  const startedAt = process.cpuUsage();
  expect(fencedBlock(hostile, ...json)).toBeUndefined();
  const { user } = process.cpuUsage(startedAt);
  // Read again for each opening it takes minutes.
  expect(user / 1_000_000).toBeLessThan(5);
});
