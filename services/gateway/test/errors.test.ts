import { once } from 'node:events';
import { connect } from 'node:net';
import { type ErrorCode, errorCodes, isPublicErrorCode, ServiceError } from '@agent-service/contracts';
import { testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exampleOf } from '../src/openapi/document.ts';
import { everyRoute } from '../src/routes/index.ts';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask, sendRaw } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('a');
const mebibyte = 1024 * 1024;

let peer: Peer;
let gateway: Gateway;

beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('a') });
  gateway = await startGateway(peer, (await testRedis()).url, {
    RATE_LIMIT_TOKENS_PER_MINUTE: '100000',
    RATE_LIMIT_WRITES_PER_MINUTE: '10000',
  });
});

afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});

const post = (path: string, more: object) => ask(gateway.url, path, { method: 'POST', token, ...more });
const valid = { name: 'Ada', email: 'ada@example.com' };

describe('paths and methods', () => {
  test.each(['/', '/v1', '/v1/', '/v1/users/', '/V1/users', '/v1/users/a/b', '/v2/users', '/v1/nothing?x=1', '//v1/users', '/index.html'])(
    '%s is 404',
    async (path) => {
      expectError(await ask(gateway.url, path), 404, 'not_found');
    },
  );

  test('bad percent-encoding is 400', async () => {
    for (const path of ['/v1/users/%zz', '/v1/users/%', '/v1/users/%ff', '/v1/users/%ed%a0%80']) {
      expectError(await ask(gateway.url, path, { token }), 400, 'invalid_request');
    }
    expectError(await ask(gateway.url, '/v1/users?role=%zz', { token }), 400, 'invalid_request');
  });

  test('a method that a path does not have is 405 with Allow, before any other check', async () => {
    for (const path of new Set(everyRoute.map((route) => route.path))) {
      const known = everyRoute.filter((route) => route.path === path).map(({ method }) => method as string);
      const allow = known.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'].filter((name) => !known.includes(name))) {
        const answer = await ask(gateway.url, path.replaceAll(/\{\w+\}/g, 'x'), { method });
        expectError(answer, 405, 'method_not_allowed');
        expect(answer.headers.get('allow')?.split(', ').sort()).toEqual(allow.sort());
      }
    }
    expectError(await ask(gateway.url, '/docs', { method: 'POST' }), 405, 'method_not_allowed');
  });

  test('HEAD answers as GET does, without the body', async () => {
    const head = await ask(gateway.url, '/v1/users', { method: 'HEAD', token });
    const get = await ask(gateway.url, '/v1/users', { token });
    expect([head.status, head.text, head.headers.get('content-type')]).toEqual([200, '', get.headers.get('content-type')]);
    const refused = await ask(gateway.url, '/v1/users', { method: 'HEAD' });
    expect([refused.status, refused.text]).toEqual([401, '']);
  });
});

describe('bodies', () => {
  test('that are not JSON are 400', async () => {
    for (const body of ['{', '', 'null x', '{"name":1,}', '\ufeff{}']) {
      const answer = await post('/v1/users', { body, headers: { 'content-type': 'application/json' } });
      expectError(answer, 400, body === '' ? 'invalid_request' : 'invalid_json');
    }
  });

  test('that are not UTF-8 are 400', async () => {
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    expectError(await post('/v1/users', { body, headers: { 'content-type': 'application/json' } }), 400, 'invalid_json');
  });

  test('that are missing are 400', async () => {
    expectError(await post('/v1/users', {}), 400, 'invalid_request');
    expectError(await post('/v1/users', { headers: { 'content-type': 'application/json' } }), 400, 'invalid_request');
  });

  test('with an unsupported Content-Type, charset or encoding are 415', async () => {
    const body = JSON.stringify(valid);
    const headers = [
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
      { 'content-type': 'application/jsonx' },
      { 'content-type': 'application/json; charset=latin1' },
      { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      {},
    ];
    for (const wrong of headers) expectError(await post('/v1/users', { body, headers: wrong }), 415, 'unsupported_media_type');
    for (const type of ['application/json', 'Application/JSON ; charset="UTF-8"', 'application/json;charset=utf-8']) {
      expect((await post('/v1/users', { body, headers: { 'content-type': type } })).status).toBe(201);
    }
  });

  test('up to the limit of a route are read, and one byte more is 413, with or without Content-Length', async () => {
    const full = JSON.stringify({ ...valid, pad: '' });
    const pad = (size: number) => JSON.stringify({ ...valid, pad: 'x'.repeat(size - full.length) });
    const headers = { 'content-type': 'application/json' };
    for (const [method, path, limit] of [
      ['POST', '/v1/agents', mebibyte],
      ['PATCH', '/v1/agents/agt_1', mebibyte],
      ['POST', '/v1/agents/agt_1/messages', 512 * 1024],
      ['POST', '/v1/users', 64 * 1024],
      ['POST', '/v1/webhooks', 64 * 1024],
      ['POST', '/v1/auth/token', 8 * 1024],
    ] as const) {
      const send = (size: number) => ask(gateway.url, path, { method, token, body: pad(size), headers });
      expectError(await send(limit), 400, 'invalid_request');
      expectError(await send(limit + 1), 413, 'payload_too_large');
      expectError(await send(20 * mebibyte), 413, 'payload_too_large');
    }
    const chunked = await fetch(`${gateway.url}/v1/agents`, {
      method: 'POST',
      headers: { ...headers, authorization: `Bearer ${token}` },
      body: new Blob([pad(5 * mebibyte)]).stream(),
      duplex: 'half',
    } as RequestInit);
    expect([chunked.status, ((await chunked.json()) as { error: { code: string } }).error.code]).toEqual([413, 'payload_too_large']);
  });

  test('with text that cannot be stored are 400', async () => {
    for (const name of ['a\0b', '\ud800']) {
      const body = JSON.stringify({ ...valid, name });
      expectError(await post('/v1/users', { body, headers: { 'content-type': 'application/json' } }), 400, 'invalid_request');
    }
    expectError(await ask(gateway.url, '/v1/users/a%00b', { token }), 400, 'invalid_request');
    expectError(await ask(gateway.url, '/v1/audit?actor=%00', { token }), 400, 'invalid_request');
  });

  test('with several invalid fields are answered with a list of all of them', async () => {
    const answer = await post('/v1/users', { json: { name: '', email: 'no', extra: 1 } });
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe('name');
    expect(answer.body.error.details.errors.map(({ param }: { param: string }) => param)).toEqual(['name', 'email', 'extra']);
  });

  test('every route with a body refuses an unknown field and every field of the wrong kind', async () => {
    for (const { method, path, body, bodyType = 'json', errorForm } of everyRoute) {
      if (!body || bodyType !== 'json' || errorForm === 'oauth') continue;
      const example = exampleOf(body);
      const target = path.replaceAll(/\{\w+\}/g, 'x');
      const unknown = await ask(gateway.url, target, { method, token, json: { ...example, no_such_field: 1 } });
      expectError(unknown, 400, 'invalid_request');
      expect(unknown.body.error.param).toBe('no_such_field');
      for (const field of Object.keys(body.shape)) {
        const wrong = await ask(gateway.url, target, { method, token, json: { ...example, [field]: [[1]] } });
        expectError(wrong, 400, 'invalid_request');
        // In a list of texts the error names the entry.
        expect(wrong.body.error.param.split('[')[0]).toBe(field);
      }
    }
  });

  test('a route without a body refuses one, unless it is empty', async () => {
    const bodyless = everyRoute.filter(({ method, body }) => method !== 'GET' && !body);
    expect(bodyless.length).toBeGreaterThan(3);
    for (const { method, path } of bodyless) {
      const send = (body: string, type = 'application/json') =>
        ask(gateway.url, path, { method, token, body, headers: { 'content-type': type } });
      for (const body of ['{"reason":1}', '[]', 'null', '{', 'x'.repeat(2 * mebibyte)])
        expectError(await send(body), 400, 'invalid_request');
      expectError(await send('reason=1', 'application/x-www-form-urlencoded'), 400, 'invalid_request');
      for (const body of ['', '{}', ' { } ']) expect((await send(body)).status).not.toBe(400);
    }
  });

  test('a caller that disconnects in the middle of a body affects no other caller', async () => {
    const head = `POST /v1/users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"na`;
    const socket = connect(gateway.port, '127.0.0.1');
    await new Promise<void>((resolve) => socket.write(head, () => resolve()));
    socket.destroy();
    expect((await ask(gateway.url, '/v1/users', { token })).status).toBe(200);
  });
});

describe('query parameters', () => {
  test.each([
    '?nothing=1',
    '?limit=',
    '?limit=0',
    '?limit=101',
    '?limit=1.5',
    '?limit=a',
    '?limit=1&limit=2',
    '?role=owner',
    '?status=',
    '?__proto__=1',
    '?limit[]=1',
  ])('%s is 400', async (query) => {
    expectError(await ask(gateway.url, `/v1/users${query}`, { token }), 400, 'invalid_request');
  });

  test('an empty cursor is invalid_cursor', async () => {
    expectError(await ask(gateway.url, '/v1/users?cursor=', { token }), 400, 'invalid_cursor');
  });

  test('a route without parameters refuses every parameter', async () => {
    expectError(await ask(gateway.url, '/v1/users/x?a=1', { token }), 400, 'invalid_request');
    expect((await ask(gateway.url, '/v1/users/x?', { token })).status).toBe(200);
  });

  test('the error identifies a parameter without a name, and one with a long name', async () => {
    for (const path of ['/v1/users?=1', '/v1/users/x?=1']) {
      const { error } = (await ask(gateway.url, path, { token })).body;
      expect(error).toMatchObject({ code: 'invalid_request', param: '""', message: '"" is not known here; remove it.' });
    }
    for (const path of ['/v1/users', '/v1/users/x']) {
      const { error } = (await ask(gateway.url, `${path}?${'n'.repeat(5000)}=1`, { token })).body;
      expect(error).toMatchObject({ code: 'invalid_request', param: `${'n'.repeat(100)}…` });
      expect(error.message).toBe(`${'n'.repeat(100)}… is not known here; remove it.`);
    }
  });

  test('malformed dates are refused', async () => {
    const reversed = ['?date_from=2026-02-01&date_to=2026-01-01', '?date_from=2026-01-02&date_to=2026-01-01'];
    for (const query of ['?date_from=2026-02-30', '?date_to=0000-01-01', ...reversed]) {
      expectError(await ask(gateway.url, `/v1/audit${query}`, { token }), 400, 'invalid_request');
    }
  });
});

describe('ambiguous headers', () => {
  test.each(['Authorization', 'Idempotency-Key', 'Host'])('%s sent twice is 400, also with the same value', async (name) => {
    const value = name === 'Authorization' ? `Bearer ${token}` : 'once';
    for (const [method, path, credential] of [
      ['GET', '/v1/users', name === 'Authorization' ? '' : `Authorization: Bearer ${token}\r\n`],
      ['POST', '/v1/users', ''],
      ['POST', '/v1/auth/token', ''],
    ]) {
      const twice = `${name}: ${value}\r\n${name.toUpperCase()}: ${value}\r\n`;
      const raw = await sendRaw(gateway.port, `${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${credential}${twice}\r\n`);
      const [head = '', body = ''] = raw.split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1.1 400 /);
      expect(JSON.parse(body).error).toMatchObject({ code: 'invalid_request', param: name, message: `Send ${name} once.` });
    }
  });
});

test('a caller that sends endless headers can read the error', async () => {
  const socket = connect(gateway.port, '127.0.0.1');
  const failed: unknown[] = [];
  socket.on('error', (cause) => failed.push(cause));
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(mebibyte)}`);
  await once(socket, 'data');
  socket.end('x'.repeat(4 * mebibyte));
  await once(socket, 'close');
  expect([received.slice(0, 12), failed]).toEqual(['HTTP/1.1 431', []]);
});

describe('errors of services', () => {
  test('keep code, parameter and details', async () => {
    peer.script.createUser = async () => {
      throw new ServiceError('email_taken', { param: 'email', details: { hint: 1 } });
    };
    const answer = await post('/v1/users', { json: valid });
    expectError(answer, 409, 'email_taken');
    expect(answer.body.error).toMatchObject({ type: 'conflict', param: 'email', details: { hint: 1 } });
  });

  test('that are bugs are a 500 without details', async () => {
    peer.script.createUser = async () => {
      throw new TypeError('something secret');
    };
    const answer = await post('/v1/users', { json: valid });
    expectError(answer, 500, 'internal');
    expect(answer.text).not.toContain('secret');
  });

  test.each(Object.keys(errorCodes) as ErrorCode[])('the code %s has its own status, or is internal if it is not public', async (code) => {
    peer.script.createUser = async () => {
      throw new ServiceError(code);
    };
    const answer = await post('/v1/users', { json: valid, isUndescribed: true });
    if (isPublicErrorCode(code)) {
      expectError(answer, errorCodes[code].http, code);
      expect(answer.body.error).toMatchObject({ type: errorCodes[code].type, message: errorCodes[code].message });
    } else if (code === 'cancelled') expectError(answer, 503, 'unavailable');
    else expectError(answer, 500, 'internal');
  });

  test('of a service that is unavailable are 503 with Retry-After', async () => {
    peer.script.createUser = async () => {
      throw new ServiceError('unavailable');
    };
    const answer = await post('/v1/users', { json: valid });
    expectError(answer, 503, 'unavailable');
    expect(answer.headers.get('retry-after')).toBe('1');
  });
});

test('unusual methods are one series of the metrics', async () => {
  for (const method of ['PROPFIND', 'MKCOL']) expectError(await ask(gateway.url, '/v1/users', { method }), 405, 'method_not_allowed');
  const metric = await gateway.process.metrics.registry.getSingleMetricAsString('http_server_seconds');
  const methods = new Set([...metric.matchAll(/_count{.*route="\/v1\/users",.*method="(\w+)",status="405"/gm)].map(([, method]) => method));
  expect(methods).toContain('_OTHER');
  expect([...methods].filter((method) => method === 'PROPFIND' || method === 'MKCOL')).toEqual([]);
});

describe('malformed HTTP', () => {
  test.each([
    ['not a request', 'hello\r\n\r\n', 400, 'invalid_request'],
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['headers that are too large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
    ['a URL that is too long', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
    ['two lengths', 'POST /v1/users HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400, 'invalid_request'],
    ['no host', 'GET /v1/users HTTP/1.1\r\nConnection: close\r\n\r\n', 401, 'missing_token'],
    ['an odd expectation', 'GET /v1/users HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n', 401, 'missing_token'],
    ['an absolute address', 'GET http://x/v1/users HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 401, 'missing_token'],
    ['a request for a tunnel', 'CONNECT /x HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
    ['a request for a tunnel elsewhere', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'method_not_allowed'],
    [
      'a compressed transfer',
      'POST /v1/users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n',
      400,
      'invalid_request',
    ],
    ['a target that is no URL', 'GET http://[ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400, 'invalid_request'],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404, 'not_found'],
  ])('%s', async (_name, bytes, status, code) => {
    const raw = await sendRaw(gateway.port, bytes);
    const [head = '', body = ''] = raw.split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head.toLowerCase()).toContain('x-request-id:');
    expect(JSON.parse(body).error.code).toBe(code);
  });
});
