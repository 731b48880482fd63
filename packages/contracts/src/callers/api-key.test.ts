import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isWellFormedApiKey, makeApiKey } from './api-key.ts';

const letters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
const random = fc.string({ unit: fc.constantFrom(...letters), minLength: 32, maxLength: 32 });
const environment = fc.constantFrom('live' as const, 'test' as const);

test('a key that was made here is well-formed and says its environment', () => {
  fc.assert(
    fc.property(environment, random, (environmentName, text) => {
      const key = makeApiKey(environmentName, text);
      expect(key).toMatch(new RegExp(`^sa_${environmentName}_[0-9A-Za-z]{38}$`));
      expect(isWellFormedApiKey(key)).toBe(true);
    }),
  );
});

test('one changed character, and the other environment, are noticed', () => {
  fc.assert(
    fc.property(environment, random, fc.nat(37), fc.constantFrom(...letters), (environmentName, text, at, letter) => {
      const key = makeApiKey(environmentName, text);
      const index = 8 + at;
      fc.pre(key[index] !== letter);
      expect(isWellFormedApiKey(key.slice(0, index) + letter + key.slice(index + 1))).toBe(false);
      expect(isWellFormedApiKey(key.replace(`sa_${environmentName}_`, environmentName === 'live' ? 'sa_test_' : 'sa_live_'))).toBe(false);
    }),
  );
});

test('keys keep their form, so that those that are in use stay well-formed', () => {
  const key = 'sa_live_000000000000000000000000000000000Eeq93';
  expect(makeApiKey('live', '0'.repeat(32))).toBe(key);
  expect(isWellFormedApiKey(key)).toBe(true);
});

test('a right checksum does not make a key of another form', () => {
  for (const text of ['', 'A'.repeat(31), 'A'.repeat(33), `${'A'.repeat(31)}-`])
    expect(isWellFormedApiKey(makeApiKey('live', text))).toBe(false);
  expect(isWellFormedApiKey(makeApiKey('other' as 'live', 'A'.repeat(32)))).toBe(false);
  // The last six characters are the checksum of all before them, x included.
  expect(isWellFormedApiKey('xsa_live_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA4ThZvV')).toBe(false);
});

test('garbage is not well-formed', () => {
  fc.assert(fc.property(fc.string(), (text) => !isWellFormedApiKey(text)));
});
