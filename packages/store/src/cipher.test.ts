import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { createCipher, encryptionSettings } from './cipher.ts';

const first = randomBytes(32);
const old = createCipher(new Map([[1, first]]));
const rotated = createCipher(
  new Map([
    [1, first],
    [2, randomBytes(32)],
  ]),
);

test('what was sealed opens again, under the newest key and every older one', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (clear, context) => {
      expect(old.decrypt(old.encrypt(clear, context), context)).toBe(clear);
      expect(rotated.decrypt(old.encrypt(clear, context), context)).toBe(clear);
      expect(rotated.encrypt(clear, context)).toMatch(/^2:/);
    }),
  );
});

test('another place, another key or a changed byte opens nothing', () => {
  const sealed = old.encrypt('secret', 'row 1');
  expect(() => old.decrypt(sealed, 'row 2')).toThrow();
  expect(() => createCipher(new Map([[1, randomBytes(32)]])).decrypt(sealed, 'row 1')).toThrow();
  expect(() => old.decrypt(rotated.encrypt('secret', 'row 1'), 'row 1')).toThrow('no version 2');
  const bytes = Buffer.from(sealed.slice(2), 'base64');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => old.decrypt(`1:${changed.toString('base64')}`, 'row 1')).toThrow();
  }
});

test('the setting names what is wrong with it and never the key', () => {
  const schema = z.object(encryptionSettings);
  expect(schema.parse({ ENCRYPTION_KEYS: `1:${first.toString('base64')}` }).ENCRYPTION_KEYS.get(1)).toEqual(first);
  for (const bad of ['1:short', 'x', `one:${first.toString('base64')}`, ''])
    expect(schema.safeParse({ ENCRYPTION_KEYS: bad }).success).toBe(false);
});
