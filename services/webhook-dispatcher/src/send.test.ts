import { expect, test } from '@jest/globals';
import { failureReason, readRetryAfter } from './send.ts';

const coded = (code: string, more: object = {}) => Object.assign(new Error(code), { code, ...more });

test.each([
  [coded('UND_ERR_CONNECT_TIMEOUT'), 'connect_timeout'],
  [coded('ENOTFOUND'), 'name_not_found'],
  [coded('ADDRESS_REFUSED'), 'address_refused'],
  [coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 'tls'],
  [coded('ERR_TLS_CERT_ALTNAME_INVALID'), 'tls'],
  [coded('HPE_INVALID_CONSTANT'), 'protocol'],
  [coded('ECONNREFUSED'), 'connection'],
  [new Error('wrapped', { cause: coded('CERT_HAS_EXPIRED') }), 'tls'],
  [coded('UND_ERR_SOCKET', { cause: coded('ADDRESS_REFUSED') }), 'address_refused'],
  [new AggregateError([coded('ECONNREFUSED'), coded('ETIMEDOUT')]), 'connect_timeout'],
  ['no error at all', 'connection'],
])('the reason of error %#: %s', (...[cause, reason]) => {
  expect(failureReason(cause)).toBe(reason);
});

test('Retry-After is read as seconds or as an HTTP date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  expect(readRetryAfter('120', now)).toBe(120_000);
  expect(readRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000);
  expect(readRetryAfter('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0);
  for (const nonsense of [undefined, '', '-5', '1.5', 'soon', '1e9', '99999999999']) expect(readRetryAfter(nonsense, now)).toBe(0);
});
