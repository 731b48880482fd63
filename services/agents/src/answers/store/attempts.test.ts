import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cut, cutExchange } from './attempts.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 200 });
const limit = fc.integer({ min: 8, max: 300 });

test('a text that fits is unchanged, and one that does not is cut between characters and ends with an ellipsis', () => {
  fc.assert(
    fc.property(text, limit, (given, most) => {
      const kept = cut(given, most);
      expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(most);
      expect(kept.isWellFormed()).toBe(true);
      if (Buffer.byteLength(given) <= most) expect(kept).toBe(given);
      else expect([kept.endsWith('…'), given.startsWith(kept.slice(0, -1))]).toEqual([true, true]);
    }),
  );
  expect(cut('a😀bc', 6)).toBe('a…');
});

test('a cut exchange fits, and keeps each text that needs no more than half of the limit', () => {
  fc.assert(
    fc.property(text, text, limit, (question, answer, most) => {
      const kept = cutExchange([{ content: question }, { content: answer }], most).map(({ content }) => content);
      const bytes = (texts: string[]) => texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0);
      expect(bytes(kept)).toBeLessThanOrEqual(most);
      if (bytes([question, answer]) <= most) expect(kept).toEqual([question, answer]);
      for (const [n, given] of [question, answer].entries()) if (Buffer.byteLength(given) <= most / 2 - 1) expect(kept[n]).toBe(given);
    }),
  );
  // The odd byte of the limit is used as well.
  expect(cutExchange([{ content: 'a'.repeat(8) }, { content: 'b'.repeat(19) }], 27)[1]?.content).toBe('b'.repeat(19));
});
