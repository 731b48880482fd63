import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { createCipher, encryptionSettings, sealingVersion } from './cipher.ts';

const first = randomBytes(32);
const old = createCipher(new Map([[1, first]]));
const rotated = createCipher(
  new Map([
    [1, first],
    [2, randomBytes(32)],
  ]),
);

test('a sealed value opens again, under the newest key and every older one', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (clear, context) => {
      expect(old.decrypt(old.encrypt(clear, context), context)).toBe(clear);
      expect(rotated.decrypt(old.encrypt(clear, context), context)).toBe(clear);
      expect(rotated.encrypt(clear, context)).toMatch(/^2:/);
    }),
  );
});

test('a value does not open with another context, another key or a changed byte', () => {
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

test('the error names the version and the setting, and shows nothing of a value that was never sealed', () => {
  const sealed = old.encrypt('secret', 'row 1');
  expect(() => old.decrypt(sealed, 'row 2')).toThrow('version 1 of ENCRYPTION_KEYS is not the key');
  for (const clear of ['', 'hunter2', 'hunter:2', '::', '123456:x']) {
    const failure = expect(() => old.decrypt(clear, 'row 1'));
    failure.toThrow('not sealed under any of ENCRYPTION_KEYS');
    failure.not.toThrow('hunter');
  }
  expect(() => old.decrypt('1:', 'row 1')).toThrow('version 1');
});

test('the error of a malformed setting does not contain the key', () => {
  const schema = z.object(encryptionSettings);
  expect(schema.parse({ ENCRYPTION_KEYS: `1:${first.toString('base64')}` }).ENCRYPTION_KEYS.get(1)).toEqual(first);
  expect(schema.parse({ ENCRYPTION_KEYS: `1:${first.toString('base64url')}` }).ENCRYPTION_KEYS.get(1)).toEqual(first);
  const key = first.toString('base64');
  for (const bad of ['1:short', 'x', `one:${key}`, '', `1:${key}:2`, `1:*${key}`, `1:${key},01:${key}`]) {
    const { error } = schema.safeParse({ ENCRYPTION_KEYS: bad });
    expect(error?.issues.map(({ path }) => path)).toContainEqual(['ENCRYPTION_KEYS']);
    expect(error?.message).not.toContain(key);
  }
});

test('a new key seals when all replicas can have it, or as soon as one of them seals with it', () => {
  const settings = { configured: [1, 2, 3], isSettled: false };
  expect(sealingVersion({ ...settings, stored: [1] })).toBe(1);
  expect(sealingVersion({ ...settings, stored: [1, 2] })).toBe(2);
  expect(sealingVersion({ ...settings, stored: [1, 3] })).toBe(3);
  expect(sealingVersion({ ...settings, stored: [1], isSettled: true })).toBe(3);
});

test('the newest key seals at once if no value is stored that this process can open', () => {
  expect(sealingVersion({ configured: [1, 2], stored: [], isSettled: false })).toBe(2);
  expect(sealingVersion({ configured: [1, 2], stored: [7], isSettled: false })).toBe(2);
});

test('the version that seals is always configured', () => {
  const versions = fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 5 });
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1 }), versions, fc.boolean(), (configured, stored, isSettled) => {
      expect(configured).toContain(sealingVersion({ configured, stored, isSettled }));
    }),
  );
});
