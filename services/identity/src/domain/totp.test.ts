import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { codeOf, otpUri, stepAt, stepOf, toBase32 } from './totp.ts';

const secret = Buffer.from('12345678901234567890');

// The examples of RFC 6238, appendix B, whose codes have eight digits.
test.each([
  [59, '94287082'],
  [1_111_111_109, '07081804'],
  [1_234_567_890, '89005924'],
  [20_000_000_000, '65353130'],
])('the code at %d s is that of the RFC', (seconds, expected) => {
  expect(codeOf(secret, stepAt(seconds * 1_000))).toBe(expected.slice(2));
});

test('a code is accepted a step early or late, and at no other time', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 ** 31 }), fc.integer({ min: -3, max: 3 }), (seconds, shift) => {
      const step = stepAt(seconds * 1_000) + shift;
      if (step < 0) return;
      const code = codeOf(secret, step);
      const accepted = stepOf(secret, code, seconds * 1_000);
      // Another step can happen to have the same code.
      const present = [-1, 0, 1].map((near) => step - shift + near).filter((each) => each >= 0 && codeOf(secret, each) === code);
      expect(accepted).toBe(present[0]);
      if (Math.abs(shift) <= 1) expect(present).toContain(step);
    }),
  );
  expect(stepOf(secret, codeOf(secret, 1_000), 1_003 * 30_000)).toBeUndefined();
  expect(stepOf(secret, codeOf(secret, 1_000), 997 * 30_000)).toBeUndefined();
});

test('secrets are written in base32 as RFC 4648 has it', () => {
  for (const [text, expected] of [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
    ['12345678901234567890', 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'],
  ] as const)
    expect(toBase32(Buffer.from(text))).toBe(expected);
  expect(otpUri('MZXQ', 'a@b.example', 'A & B')).toBe('otpauth://totp/A%20%26%20B%3Aa%40b.example?secret=MZXQ&issuer=A%20%26%20B');
});
