import { testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exampleOf } from '../src/openapi/document.ts';
import { everyRoute } from '../src/routes/index.ts';
import { type Route, successStatus } from '../src/routing/route.ts';
import { answers, document } from './support/document.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { ask } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('a');

let peer: Peer;
let gateway: Gateway;

beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('a') });
  gateway = await startGateway(peer, (await testRedis()).url);
});

afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});

function sample(route: Route) {
  const form =
    route.bodyType === 'form' && route.body ? new URLSearchParams(exampleOf(route.body) as Record<string, string>).toString() : undefined;
  return {
    path: route.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => String(exampleOf(route.params as never)[name])),
    method: route.method,
    ...(route.auth === 'token' && { token }),
    ...(route.body && !form && { json: exampleOf(route.body) }),
    ...(form && { body: form, headers: { 'content-type': 'application/x-www-form-urlencoded' } }),
  };
}

describe('every route', () => {
  test.each(everyRoute.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s returns what its schema describes for its examples',
    async (_name, route) => {
      const { path, ...request } = sample(route);
      const answer = await ask(gateway.url, path, request);
      expect({ status: answer.status, text: answer.status < 300 ? '' : answer.text }).toEqual({ status: successStatus(route), text: '' });
      const content = route.responseType ? answer.text : answer.body;
      expect(route.response ? route.response.safeParse(content).error : answer.text || undefined).toBeUndefined();
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(answer.headers.get('cache-control')).toBe(route.cacheControl ?? 'no-store');
      expect(answer.headers.has('x-ratelimit-limit')).toBe(route.cost !== undefined);
      expect(answer.headers.has('etag')).toBe(route.successHeaders?.includes('ETag') ?? false);
      expect(answer.headers.get('x-powered-by')).toBeNull();
      expect(answer.headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    },
  );

  test('has an example for each required field, and a unique operation id and name', () => {
    for (const { body, params } of everyRoute) {
      for (const schema of [body, params]) if (schema) expect(schema.safeParse(exampleOf(schema)).error).toBeUndefined();
    }
    expect(new Set(everyRoute.map(({ operationId }) => operationId)).size).toBe(everyRoute.length);
  });
});

test('signing keys may be cached for a minute, which is less than the time between publication and use of a new key', async () => {
  expect((await ask(gateway.url, '/.well-known/jwks.json')).headers.get('cache-control')).toBe('public, max-age=60');
});

describe('requests that can be repeated', () => {
  test('pass their key to the service, and a stored answer is marked as replayed', async () => {
    const received: unknown[] = [];
    peer.script.createUser = async (_request, call) => {
      received.push(call.requestedOnce?.scope);
      call.replayed = call.requestedOnce !== undefined;
      return {
        user: {
          id: 'usr_1',
          name: 'Ada',
          email: 'ada@example.com',
          role: 'member',
          status: 'active',
          createdAt: '2026-01-31T10:00:00.000Z',
        },
      };
    };
    const json = { name: 'Ada', email: 'ada@example.com' };
    const keyed = await ask(gateway.url, '/v1/users', { method: 'POST', token, json, headers: { 'idempotency-key': 'once' } });
    const plain = await ask(gateway.url, '/v1/users', { method: 'POST', token, json });
    expect([keyed.headers.get('idempotent-replayed'), plain.headers.get('idempotent-replayed')]).toEqual(['true', null]);
    expect(received).toEqual(['org_a live key_a POST /v1/users once', undefined]);
    const bad = await ask(gateway.url, '/v1/users', { method: 'POST', token, json, headers: { 'idempotency-key': 'x'.repeat(256) } });
    expect([bad.status, bad.body.error.param]).toEqual([400, 'Idempotency-Key']);
  });
});

test('a caller of a GET that disconnects cancels the work, a caller of a write does not', async () => {
  const arrived = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  peer.script.getUser = async (_request, call) => {
    call.signal.addEventListener('abort', () => ended.resolve());
    arrived.resolve();
    await ended.promise;
    return {};
  };
  const abort = new AbortController();
  const reading = fetch(`${gateway.url}/v1/users/x`, { headers: { authorization: `Bearer ${token}` }, signal: abort.signal });
  await arrived.promise;
  abort.abort();
  await expect(reading).rejects.toThrow();
  await ended.promise;

  const called = Promise.withResolvers<void>();
  const finished = Promise.withResolvers<boolean>();
  const leave = new AbortController();
  peer.script.updateUser = async (_request, call) => {
    called.resolve();
    while (!left) await new Promise(setImmediate);
    finished.resolve(call.signal.aborted);
    return {};
  };
  let left = false;
  const writing = fetch(`${gateway.url}/v1/users/x`, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{}',
    signal: leave.signal,
  });
  await called.promise;
  leave.abort();
  await expect(writing).rejects.toThrow();
  await ask(gateway.url, '/livez');
  left = true;
  expect(await finished.promise).toBe(false);
});

describe('the OpenAPI document', () => {
  test('describes every route', async () => {
    const { status, body } = await ask(gateway.url, '/openapi.json');
    expect([status, body.openapi]).toEqual([200, '3.1.1']);
    for (const route of everyRoute) {
      const operation = body.paths[route.path][route.method.toLowerCase()];
      expect(operation.operationId).toBe(route.operationId);
      expect(operation.responses[successStatus(route)]).toBeDefined();
      expect(operation['x-extension'] ?? false).toBe(route.extension ?? false);
      if (route.scope) expect(operation.security).toContainEqual({ oauth: [route.scope] });
    }
  });

  test('has no dangling references', async () => {
    const { body, text } = await ask(gateway.url, '/openapi.json');
    const references = [...text.matchAll(/"\$ref":"#\/(.+?)"/g)].map(([, path]) => path as string);
    expect(references.length).toBeGreaterThan(50);
    for (const path of new Set(references)) expect(path.split('/').reduce((value, key) => value?.[key], body)).toBeDefined();
  });
});

describe('the examples of the document', () => {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => [operation.operationId, path, method, operation] as const),
  );

  test.each(operations)(
    '%s: each body and each error has one, which fits its schema',
    (_name, path, method, { requestBody, responses }) => {
      const bodies = [
        ...Object.entries(requestBody?.content ?? {}).map(([type, media]) => ({ place: ['requestBody', 'content', type], media })),
        ...Object.entries(responses).flatMap(([status, { content = {} }]) =>
          Object.entries(content).map(([type, media]) => ({ place: ['responses', status, 'content', type], media })),
        ),
      ];
      for (const { place, media } of bodies) {
        const named = Object.values(media.examples ?? {}).map(
          ({ value, $ref }) => value ?? document.components.examples[$ref?.split('/').at(-1) ?? '']?.value,
        );
        const examples = media.example === undefined ? named : [media.example];
        expect({ place, examples: examples.length > 0 }).toEqual({ place, examples: true });
        for (const example of examples)
          expect({ place, faults: answers.faultsAt(['paths', path, method, ...place, 'schema'], example) }).toEqual({
            place,
            faults: undefined,
          });
      }
      expect(Object.keys(responses).some((status) => Number(status) >= 400)).toBe(true);
    },
  );
});

describe('the reference page', () => {
  test('loads nothing from other hosts', async () => {
    const page = await ask(gateway.url, '/docs');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const nonce = /'nonce-([\w+/=]{24})'/.exec(policy)?.[1] ?? '';
    expect(page.text).toContain(`<meta property="csp-nonce" content="${nonce}">`);
    expect((await ask(gateway.url, '/docs')).text).not.toContain(nonce);
    expect(page.text).not.toMatch(/https?:|\/\/\w/);
    expect(page.text).not.toMatch(/<script>|<style|\son\w+=|style=/);
    const linked = [...page.text.matchAll(/(?:src|href)="(.+?)"/g)].map(([, path]) => `/${path}`);
    expect(linked).toHaveLength(3);
    for (const path of linked) {
      const file = await ask(gateway.url, path);
      const filePolicy = file.headers.get('content-security-policy');
      expect([path, file.status, filePolicy]).toEqual([path, 200, "default-src 'none';frame-ancestors 'none'"]);
    }
  });
});

test('a gateway that stops finishes running requests and closes connections', async () => {
  const own = await startGateway(peer, (await testRedis()).url);
  const arrived = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  peer.script.listUsers = async () => {
    arrived.resolve();
    await go.promise;
    return { users: [], page: { total: 0, nextCursor: '' } };
  };
  const answer = ask(own.url, '/v1/users', { token, headers: { connection: 'keep-alive' } });
  await arrived.promise;
  const stopped = own.stop();
  go.resolve();
  expect((await answer).status).toBe(200);
  expect((await answer).headers.get('connection')).toBe('close');
  await stopped;
  await expect(ask(own.url, '/livez')).rejects.toThrow('ECONNREFUSED');
});
