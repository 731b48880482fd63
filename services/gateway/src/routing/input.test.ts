import { ServiceError } from '@agent-service/contracts';
import { errorBody, publicError } from '@agent-service/http/replies/error-reply';
import { requestIdOf } from '@agent-service/http/replies/exchange';
import { parsePairs } from '@agent-service/http/requests/pairs';
import { checkText, validate } from '@agent-service/http/requests/validate';
import { anyCharacter } from '@agent-service/testkit/properties';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { canonicalJson, idempotencyKey } from './input.ts';

const errorOf = (work: () => unknown): ServiceError | undefined => {
  try {
    work();
  } catch (cause) {
    return cause as ServiceError;
  }
  return undefined;
};

describe('pairs', () => {
  test('a query that URLSearchParams writes is read with the same values', () => {
    const fields = fc.dictionary(
      fc.string({ unit: anyCharacter, minLength: 1 }).filter((text) => text.isWellFormed()),
      fc.string({ unit: anyCharacter }).filter((text) => text.isWellFormed()),
      { maxKeys: 20 },
    );
    fc.assert(
      fc.property(fields, (input) => {
        expect({ ...parsePairs(new URLSearchParams(input).toString()) }).toEqual({ ...input });
      }),
    );
  });

  test('any text is read or refused', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(['invalid_request', undefined]).toContain(errorOf(() => parsePairs(text))?.code);
      }),
    );
  });

  test('a name that is given twice, bad encoding and too many are refused', () => {
    expect(errorOf(() => parsePairs('a=1&b=2&a=3'))).toMatchObject({ code: 'invalid_request', param: 'a' });
    expect(errorOf(() => parsePairs('__proto__=1&__proto__=2'))).toMatchObject({ param: '__proto__' });
    expect(errorOf(() => parsePairs('=1&=2'))).toMatchObject({ param: '""', message: '"" is given more than once.' });
    expect(errorOf(() => parsePairs(`${'n'.repeat(500)}&${'n'.repeat(500)}`))?.param).toHaveLength(101);
    expect(errorOf(() => parsePairs('a=%zz'))?.code).toBe('invalid_request');
    expect(errorOf(() => parsePairs('a=%ff'))?.code).toBe('invalid_request');
  });

  test('a hundred parts are read and more are refused, whether they have text or not', () => {
    const many = (count: number, part: (index: number) => string) => Array.from({ length: count }, (_, index) => part(index)).join('&');
    expect(Object.keys(parsePairs(many(100, (index) => `p${index}`)))).toHaveLength(100);
    for (const text of [many(101, (index) => `p${index}`), many(50_000, () => 'a=1'), `${'&'.repeat(101)}a=1`, `a=1${'&'.repeat(100)}`])
      expect(errorOf(() => parsePairs(text))).toMatchObject({ code: 'invalid_request', message: 'Send at most 100 parameters.' });
  });
});

describe('text', () => {
  test.each([
    [{ a: { b: ['fine', 'x\0'] } }, 'a.b[1]'],
    [{ a: '\ud800' }, 'a'],
    [['\udfff'], '[0]'],
    [{ 'k\0': 1 }, ''],
  ])('%j is refused', (value, param) => {
    expect(errorOf(() => checkText(value))).toMatchObject({ code: 'invalid_request', param });
  });

  test('any other JSON is fine', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 10 }).filter((value) => !/\\u|"__proto__":/.test(JSON.stringify(value))),
        (value) => errorOf(() => checkText(value)) === undefined,
      ),
    );
    expect(errorOf(() => checkText({ a: '😀 é \u2028' }))).toBeUndefined();
  });
});

describe('validation', () => {
  const schema = z.strictObject({
    name: z.string(),
    count: z.int().min(1).max(9).optional(),
    kind: z.enum(['a', 'b']).optional(),
    data_scope: z.strictObject({ tables: z.array(z.string()).max(2) }).optional(),
  });

  test.each([
    [{}, 'name', 'name is required.'],
    [{ name: 1 }, 'name', 'name must be a string.'],
    [{ name: null }, 'name', 'name must be a string.'],
    [{ name: '', count: 1.5 }, 'count', 'count must be a whole number.'],
    [{ name: '', count: 10 }, 'count', 'count must be at most 9.'],
    [{ name: '', count: 1e20 }, 'count', 'count must be at most 9.'],
    [{ name: '', kind: 'c' }, 'kind', 'kind must be one of a, b.'],
    [{ name: '', other: 1 }, 'other', 'other is not known here; remove it.'],
    [JSON.parse('{"name":"","__proto__":1}'), '__proto__', '__proto__ is not known here; remove it.'],
    [{ name: '', '': 1 }, '""', '"" is not known here; remove it.'],
    [{ name: '', ['n'.repeat(101)]: 1 }, `${'n'.repeat(100)}…`, `${'n'.repeat(100)}… is not known here; remove it.`],
    [{ name: '', [`${'n'.repeat(99)}😀`]: 1 }, `${'n'.repeat(99)}\ufffd…`, `${'n'.repeat(99)}\ufffd… is not known here; remove it.`],
    [{ name: '', data_scope: { tables: [1] } }, 'data_scope.tables[0]', 'data_scope.tables[0] must be a string.'],
    [{ name: '', data_scope: { tables: ['', '', ''] } }, 'data_scope.tables', 'data_scope.tables must have at most 2 entries.'],
    [{ name: '', data_scope: { more: 1, tables: [] } }, 'data_scope.more', 'data_scope.more is not known here; remove it.'],
    [[], null, 'The body must be an object.'],
    ['text', null, 'The body must be an object.'],
  ])('%j', (value, param, message) => {
    expect(errorOf(() => validate(schema, value))).toMatchObject({ code: 'invalid_request', param, message });
  });

  test('of many faulty fields the first 20 are listed and the rest is counted', () => {
    const error = errorOf(() => validate(schema, { name: 1, kind: 2, x: 3 }));
    expect(error?.details.errors).toMatchObject([{ param: 'name' }, { param: 'kind' }, { param: 'x' }]);
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`f${index}`, 1]));
    const details = errorOf(() => validate(schema, many))?.details ?? {};
    expect(details['errors']).toHaveLength(20);
    expect(details['errors_omitted']).toBe(481);
  });
});

describe('canonical JSON', () => {
  test('does not depend on the order of fields, and nothing else is lost', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  function reversed(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([name, inner]) => [name, reversed(inner)]),
    );
  }
});

describe('Idempotency-Key', () => {
  const principal = {
    organizationId: 'org_1',
    environment: 'live',
    userId: 'usr_1',
    credentialId: 'key_1',
    scopes: [],
    admin: false,
  } as const;

  test('names tenant, credential, method and path, and the body by its hash', () => {
    const key = idempotencyKey('k 1', principal, 'POST', '/v1/users', { b: 1, a: 2 });
    expect(key?.scope).toBe('org_1 live key_1 POST /v1/users k 1');
    expect(key).toEqual(idempotencyKey('k 1', principal, 'POST', '/v1/users', { a: 2, b: 1 }));
    expect(key?.fingerprint).not.toBe(idempotencyKey('k 1', principal, 'POST', '/v1/users', { a: 2 })?.fingerprint);
  });

  test('is that of one end user only, whose token is of a credential that many share', () => {
    const scopeOf = (tokenId: string) => idempotencyKey('k', { ...principal, agentId: 'agt_1', tokenId }, 'POST', '/', {})?.scope;
    expect(new Set([scopeOf(''), scopeOf('tok_1'), scopeOf('tok_2')]).size).toBe(3);
    expect(scopeOf('')).toBe(idempotencyKey('k', principal, 'POST', '/', {})?.scope);
  });

  test('is that of a user in all sessions of the portal', () => {
    const scopeOf = (credentialId: string) => idempotencyKey('k', { ...principal, credentialId }, 'POST', '/', {})?.scope;
    expect(scopeOf('ses_1')).toBe(scopeOf('ses_2'));
    expect(scopeOf('ses_1')).not.toBe(scopeOf('key_1'));
  });

  test.each(['', 'ä', 'a\tb', 'x'.repeat(256)])('%j is refused', (header) => {
    expect(errorOf(() => idempotencyKey(header, principal, 'POST', '/', {}))?.param).toBe('Idempotency-Key');
    expect(idempotencyKey('x'.repeat(255), principal, 'POST', '/', {})?.scope).toContain('x'.repeat(255));
  });
});

describe('errors', () => {
  test('any error becomes the envelope', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.dictionary(fc.string(), fc.jsonValue()), (message, param, details) => {
        const body = JSON.parse(errorBody(new ServiceError('invalid_request', { message, param, details }), 'id'));
        expect(Object.keys(body)).toEqual(['error', 'meta']);
        expect(Object.keys(body.error)).toEqual(['type', 'code', 'message', 'param', 'details']);
      }),
    );
  });

  test('a fault between our services is not reported as an error of the caller', () => {
    expect(publicError(new ServiceError('service_forbidden')).code).toBe('internal');
    expect(publicError(new ServiceError('cancelled')).code).toBe('unavailable');
    expect(publicError(new TypeError('a secret')).message).not.toContain('secret');
  });
});

test('a caller’s request id is taken over if it is one', () => {
  for (const id of ['a', 'A-b_c.9', 'x'.repeat(128)]) expect(requestIdOf(id)).toBe(id);
  for (const id of [undefined, '', 'a b', 'ä', 'x'.repeat(129), 'a\nb']) expect(requestIdOf(id)).toMatch(/^[0-9a-f-]{36}$/);
});
