import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { signatureHeaders } from './signatures.ts';

const standardSecret = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`);
const body = fc.json();

test('the published Standard Webhooks library verifies signatures with the new and the previous secret', () => {
  fc.assert(
    fc.property(standardSecret, standardSecret, body, (newest, old, text) => {
      const headers = signatureHeaders({ eventId: 'evt_1', body: text, secrets: [newest, old], nowMs: Date.now() });
      expect(new Webhook(newest).verify(text, headers)).toEqual(JSON.parse(text));
      expect(new Webhook(old).verify(text, headers)).toEqual(JSON.parse(text));
      expect(() => new Webhook(`whsec_${Buffer.alloc(32).toString('base64')}`).verify(text, headers)).toThrow('No matching signature');
      expect(() => new Webhook(newest).verify(`${text} `, headers)).toThrow('No matching signature');
    }),
  );
});

test('a secret in a form of the caller signs by its characters', () => {
  const own = 'correct horse battery staple';
  const headers = signatureHeaders({ eventId: 'evt_1', body: '{}', secrets: [own], nowMs: Date.now() });
  expect(new Webhook(own, { format: 'raw' }).verify('{}', headers)).toEqual({});
});

test.each([
  ['base64 without the prefix', 'abcdefAAAAAAAAAAAAAAAA'],
  ['the prefix alone', 'whsec_'],
  ['the prefix and no base64', 'whsec_correct horse battery staple'],
  ['base64 in another spelling', 'whsec_AAAAAAAAAAAAAAAAAB=='],
])('a secret of %s signs by its characters', (_, secret) => {
  const { 'webhook-signature': signature } = signatureHeaders({ eventId: 'evt_1', body: '{}', secrets: [secret], nowMs: 5_000 });
  expect(signature).toBe(`v1,${createHmac('sha256', secret).update('evt_1.5.{}').digest('base64')}`);
});

test('the signed time is never ahead of the clock', () => {
  const headers = signatureHeaders({ eventId: 'evt_1', body: '{}', secrets: ['whsec_AAAA'], nowMs: 5_999 });
  expect(headers['webhook-timestamp']).toBe('5');
});

test('X-Service-Signature is the lowercase hexadecimal HMAC-SHA256 of the raw body, keyed with the characters of the newest secret', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 16 }), fc.string({ minLength: 16 }), body, (newest, old, text) => {
      const { 'x-service-signature': signature } = signatureHeaders({ eventId: 'evt_1', body: text, secrets: [newest, old], nowMs: 0 });
      expect(signature).toBe(`sha256=${createHmac('sha256', newest).update(Buffer.from(text)).digest('hex')}`);
    }),
  );
});
