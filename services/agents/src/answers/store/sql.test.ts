import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cut, cutPair } from './sql.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const limit = fc.integer({ min: 8, max: 300 });

test('a text that fits is unchanged, and one that does not is cut between characters and ends with an ellipsis', () => {
  fc.assert(
    fc.property(text, limit, (input, most) => {
      const result = cut(input, most);
      expect(Buffer.byteLength(result)).toBeLessThanOrEqual(most);
      expect(result.isWellFormed()).toBe(true);
      if (Buffer.byteLength(input) <= most) expect(result).toBe(input);
      else expect([result.endsWith('…'), input.startsWith(result.slice(0, -1))]).toEqual([true, true]);
    }),
  );
  expect(cut('a😀bc', 6)).toBe('a…');
});

test('a cut pair fits, and keeps each text that needs no more than half of the limit', () => {
  fc.assert(
    fc.property(text, text, limit, (question, answer, most) => {
      const result = cutPair([{ content: question }, { content: answer }], most).map(({ content }) => content);
      const bytes = (texts: string[]) => texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
      expect(bytes(result)).toBeLessThanOrEqual(most);
      if (bytes([question, answer]) <= most) expect(result).toEqual([question, answer]);
      for (const [n, input] of [question, answer].entries()) if (Buffer.byteLength(input) <= most / 2 - 1) expect(result[n]).toBe(input);
    }),
  );
  // The odd byte of the limit is used as well.
  expect(cutPair([{ content: 'a'.repeat(8) }, { content: 'b'.repeat(19) }], 27)[1]?.content).toBe('b'.repeat(19));
});
