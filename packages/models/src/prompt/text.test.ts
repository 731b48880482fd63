import { checkProperty } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cleanText, textCleaner } from './text.ts';

const units = fc.array(fc.constantFrom('a', '\0', '\ud83d', '\ude00', 'é', ''), { maxLength: 40 });

test('a text cleaned in pieces is the cleaned text, and every piece of it is clean', () => {
  checkProperty(
    fc.property(units, fc.array(fc.nat(40)), (given, cuts) => {
      const text = given.join('');
      const cleaner = textCleaner();
      const places = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
      const pieces = places.slice(1).map((place, index) => cleaner.push(text.slice(places[index], place)));
      pieces.push(cleaner.flush());
      expect(pieces.join('')).toBe(cleanText(text));
      expect(pieces.every((piece) => piece.isWellFormed() && !piece.includes('\0'))).toBe(true);
    }),
    1_000,
  );
});
