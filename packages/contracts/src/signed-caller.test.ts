import { expect, test } from '@jest/globals';
import type { Caller } from './principal.ts';
import { createSigner, createVerifier } from './signed-caller.ts';

const secret = 'a-service-secret-that-is-long-enough';
const caller: Caller = {
  service: 'gateway',
  principal: { organizationId: 'org_a', environment: 'live', userId: 'usr_a', credentialId: 'key_a', scopes: ['users:read'], admin: false },
};

test('a signed caller is who it says', () => {
  const signed = createSigner([secret]).sign(caller);
  const verifier = createVerifier([secret]);
  expect(verifier.verify(signed)).toEqual(caller);
  expect(verifier.verify(signed)).toEqual(caller);
});

test('nobody without the secret can name a caller', () => {
  const verifier = createVerifier([secret]);
  const signed = createSigner(['another-service-secret-long-enough-too']).sign(caller);
  const [payload, signature] = createSigner([secret]).sign(caller).split('.');
  const other = Buffer.from(JSON.stringify({ caller: { service: 'operator' }, expiresAtMs: Date.now() + 1e6 })).toString('base64url');
  for (const text of [
    '',
    '.',
    'x',
    signed,
    `${payload}.`,
    `${payload}`,
    `${other}.${signature}`,
    `${payload}.${signature}.x`,
    `${payload}.${signature}x`,
  ]) {
    expect(verifier.verify(text)).toBeUndefined();
  }
});

test('a signature ends, also one that was verified before', () => {
  let now = 1_000_000;
  const clock = () => now;
  const signer = createSigner([secret], clock);
  const verifier = createVerifier([secret], clock);
  const signed = signer.sign(caller);
  expect(verifier.verify(signed)).toEqual(caller);
  now += 29_000;
  expect(signer.sign(caller)).toBe(signed);
  now += 2_000;
  expect(signer.sign(caller)).not.toBe(signed);
  now += 30_000;
  expect(verifier.verify(signed)).toBeUndefined();
});

test('the secret can be changed without a pause: the first signs, all are accepted', () => {
  const next = 'the-next-service-secret-also-long-enough';
  const signed = createSigner([secret]).sign(caller);
  expect(createVerifier([next, secret]).verify(signed)).toEqual(caller);
  expect(createVerifier([next]).verify(signed)).toBeUndefined();
});
