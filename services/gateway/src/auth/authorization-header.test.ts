import { ServiceError } from '@agent-service/contracts';
import { bearerChallenge } from '@agent-service/http/replies/error-reply';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { basicCredentials, bearerToken } from './authorization-header.ts';

const codeOf = (work: () => unknown) => {
  try {
    work();
  } catch (cause) {
    return (cause as ServiceError).code;
  }
  return 'accepted';
};

describe('bearer tokens', () => {
  test('every b64token of RFC 6750 is taken as it is', () => {
    const token = fc.stringMatching(/^[A-Za-z0-9\-._~+/]{1,60}={0,2}$/);
    const scheme = fc.constantFrom('Bearer', 'bearer', 'BEARER');
    fc.assert(fc.property(scheme, token, (name, text) => bearerToken(`${name} ${text}`) === text));
  });

  test('for any header, the answer is a token or an authentication error', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `Bearer ${text}`),
        ),
        (header) => {
          expect(['accepted', 'missing_token', 'invalid_token']).toContain(codeOf(() => bearerToken(header)));
        },
      ),
    );
  });

  test.each([
    [undefined, 'missing_token'],
    ['', 'missing_token'],
    ['Basic abc', 'missing_token'],
    ['Bearerabc', 'missing_token'],
    ['Bearer', 'invalid_token'],
    ['Bearer a b', 'invalid_token'],
    ['Bearer a,b', 'invalid_token'],
    ['Bearer =a', 'invalid_token'],
  ])('%j is %s', (header, code) => {
    expect(codeOf(() => bearerToken(header))).toBe(code);
  });
});

describe('Basic client authentication', () => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

  test('any form-encoded text is decoded as it was', () => {
    const part = fc.string({ minLength: 1 }).filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(part, part, (id, secret) => {
        expect(basicCredentials(basic(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`))).toEqual({ id, secret });
      }),
    );
  });

  test('a plus stands for a space, and a secret may have colons as they are', () => {
    expect(basicCredentials(basic('my+app:a:b+c:d'))).toEqual({ id: 'my app', secret: 'a:b c:d' });
  });

  test.each([
    ['Basic', 'invalid_client'],
    ['Basic !', 'invalid_client'],
    [basic('id'), 'invalid_client'],
    [basic('id:'), 'invalid_client'],
    [basic(':secret'), 'invalid_client'],
    [basic('id:100%'), 'accepted'],
    ['Bearer abc', 'accepted'],
    [undefined, 'accepted'],
  ])('%j is %s', (header, code) => {
    expect(codeOf(() => basicCredentials(header))).toBe(code);
  });
});

describe('challenges', () => {
  test.each([
    [new ServiceError('missing_token'), 'Bearer realm="agent-service"'],
    [
      new ServiceError('token_expired'),
      'Bearer realm="agent-service", error="invalid_token", error_description="The token has expired. Request a new one."',
    ],
    [
      new ServiceError('insufficient_scope', { details: { required: ['users:read'] } }),
      'Bearer realm="agent-service", error="insufficient_scope", error_description="The token lacks the scope that this endpoint needs.", scope="users:read"',
    ],
    [new ServiceError('not_found'), undefined],
  ])('%s', (error, expected) => {
    expect(bearerChallenge(error)).toBe(expected);
  });
});
