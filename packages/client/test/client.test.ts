import { randomUUID } from 'node:crypto';
import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import {
  type AnswerEvent,
  ApiError,
  apiKey,
  type Client,
  ConnectionError,
  clientCredentials,
  type DeprecationNotice,
  entries,
  isApiError,
  pages,
  sendMessage,
  startAnswer,
  streamAnswer,
  waitForAnswer,
} from '../src/index.ts';
import { answerText, type ClientWorld, startClientWorld } from './support/world.ts';

let world: ClientWorld;
let client: Client;
let agentId: string;
beforeAll(async () => {
  world = await startClientWorld({ ANSWER_WAIT_SECONDS: '1' });
  ({ client, agentId } = world);
}, 120_000);
afterAll(() => world?.stop());
beforeEach(() => void world.proxy.received.splice(0));

const spent = async () => (await client.get('/v1/credits/usage')).meta.total;
const timesAsked = (message: string) => world.messages.filter((one) => one.includes(message)).length;
const receivedPaths = () => world.proxy.received.map(({ method, path }) => `${method} ${path.split('?')[0]}`);

describe('credentials', () => {
  test('an API key is exchanged once for all requests, and sent to the token endpoint only', async () => {
    const own = world.connect();
    await Promise.all([own.get('/v1/me'), own.get('/v1/me'), own.get('/v1/agents')]);
    expect(receivedPaths().filter((path) => path === 'POST /v1/auth/token')).toHaveLength(1);
    const bearers = world.proxy.received.filter(({ path }) => path !== '/v1/auth/token').map(({ headers }) => headers.authorization ?? '');
    expect(bearers.every((value) => value.startsWith('Bearer eyJ'))).toBe(true);
  });

  test('OAuth client credentials give a token with the requested scopes', async () => {
    const { client_id: id, client_secret: secret } = world.credentials.oauth;
    const own = world.connect({ auth: clientCredentials(id, secret, ['agents:read']) });
    expect((await own.get('/v1/me')).data.scopes).toEqual(['agents:read']);
    const refusal = await own
      .post('/v1/agents', { body: { name: 'x', system_prompt: 'x', data_scope: { tables: [] } } })
      .catch((error) => error);
    expect(isApiError(refusal, 'insufficient_scope') && refusal.details['required']).toEqual(['agents:write']);
  });

  test('a token or a function that returns one is sent as it is', async () => {
    const key = world.credentials.api_keys.test;
    expect((await world.connect({ auth: key }).get('/v1/me')).data.environment).toBe('test');
    expect((await world.connect({ auth: async () => key }).get('/v1/me')).data.environment).toBe('test');
  });

  test('a token that is refused in the middle is replaced at once, also where clocks are wrong', async () => {
    const own = world.connect();
    await own.get('/v1/me');
    world.proxy.plan('/v1/me', { kind: 'answer', status: 401, code: 'token_expired' });
    expect((await own.get('/v1/me')).data.environment).toBe('live');
    expect(receivedPaths()).toEqual(['POST /v1/auth/token', 'GET /v1/me', 'GET /v1/me', 'POST /v1/auth/token', 'GET /v1/me']);
  });

  test('a token is renewed in the last fifth of its life while requests go on with it, and before a request once it has expired', async () => {
    const own = world.connect();
    await own.get('/v1/me');
    const now = performance.now.bind(performance);
    const moveClock = (seconds: number) => jest.spyOn(performance, 'now').mockImplementation(() => now() + seconds * 1_000);
    const bearers = () => world.proxy.received.flatMap(({ path, headers }) => (path === '/v1/me' ? headers.authorization : []));
    const lifetime = Number(process.env['TOKEN_TTL_SECONDS'] ?? 3_600);
    try {
      moveClock(lifetime - 310);
      await own.get('/v1/me');
      expect(receivedPaths()).toEqual(['POST /v1/auth/token', 'GET /v1/me', 'GET /v1/me']);
      moveClock(lifetime - 290);
      await own.get('/v1/me');
      await until(
        'the token is renewed beside the request',
        async () => receivedPaths().filter((path) => path === 'POST /v1/auth/token').length === 2,
      );
      await until('the new token is used', async () => (await own.get('/v1/me')) && new Set(bearers()).size === 2);
      expect(bearers().slice(0, 3)).toEqual([bearers()[0], bearers()[0], bearers()[0]]);
      expect(receivedPaths().filter((path) => path === 'POST /v1/auth/token')).toHaveLength(2);
      world.proxy.received.splice(0);
      moveClock(3 * lifetime);
      await own.get('/v1/me');
      expect(receivedPaths()).toEqual(['POST /v1/auth/token', 'GET /v1/me']);
    } finally {
      jest.restoreAllMocks();
    }
  });

  test('a wrong key is a refusal that names the field, and is not repeated', async () => {
    const error = await world
      .connect({ auth: apiKey('sa_live_wrong') })
      .get('/v1/me')
      .catch((cause) => cause);
    expect(error).toBeInstanceOf(ApiError);
    expect([error.status, error.code, error.field, error.type]).toEqual([401, 'invalid_token', 'api_key', 'authentication']);
    expect(error.requestId).toMatch(/^[\w.-]+$/);
    expect(receivedPaths()).toEqual(['POST /v1/auth/token']);
  });
});

describe('requests', () => {
  test('a refusal has its code, field and remedy', async () => {
    const body = { name: '', system_prompt: 'x', data_scope: { tables: [] } };
    const error = await client.post('/v1/agents', { body }).catch((cause) => cause);
    expect([error.status, error.code, error.field]).toEqual([400, 'invalid_request', 'name']);
    expect(error.remedy.length).toBeGreaterThan(5);
    expect(error.message).toContain(error.remedy);
  });

  test('pages and entries follow the cursor to the end', async () => {
    const names = ['first', 'second', 'third'].map((name) => `${name} ${randomUUID()}`);
    for (const name of names) await client.post('/v1/agents', { body: { name, system_prompt: 'x', data_scope: { tables: [] } } });
    const all = (await Array.fromAsync(entries(client, '/v1/agents', { query: { limit: 2 } }))).map(({ name }) => name);
    expect(all).toEqual(expect.arrayContaining(names));
    expect(new Set(all).size).toBe(all.length);
    const sizes = (await Array.fromAsync(pages(client, '/v1/agents', { query: { limit: 2 } }))).map(({ data }) => data.length);
    expect(sizes.slice(0, -1).every((size) => size === 2)).toBe(true);
  });

  test('429 and 503 are repeated after Retry-After, and a pause that is too long ends the call', async () => {
    const waits: number[] = [];
    const own = world.connect({ onRetry: ({ waitMs }) => waits.push(waitMs), maxRetryWaitMs: 5_000 });
    world.proxy.plan(
      '/v1/agents',
      { kind: 'answer', status: 429, code: 'rate_limited', headers: { 'retry-after': '1' } },
      { kind: 'answer', status: 503, code: 'unavailable' },
      { kind: 'answer', status: 502 },
    );
    expect((await own.get('/v1/agents')).data.length).toBeGreaterThan(0);
    expect([waits.length, waits[0] ?? 0]).toEqual([3, expect.any(Number)]);
    expect(waits[0]).toBeGreaterThan(1_000);
    const [refusedAt = 0, repeatedAt = 0] = world.proxy.received.flatMap(({ path, at }) => (path === '/v1/agents' ? at : []));
    expect(repeatedAt - refusedAt).toBeGreaterThan(998);
    world.proxy.plan('/v1/agents', { kind: 'answer', status: 429, code: 'rate_limited', headers: { 'retry-after': '3600' } });
    expect(await own.get('/v1/agents').catch((cause) => cause.retryAfterSeconds)).toBe(3600);
  });

  test('a call whose limit is used up is sent in the next window, and one of other limits at once', async () => {
    const own = world.connect();
    world.proxy.plan('/v1/agents', { kind: 'headers', usedUp: 1 });
    await own.get('/v1/agents');
    const learnedAt = performance.now();
    // Reads share a limit, writes another limit.
    await Promise.all([
      own.get('/v1/agents'),
      own.post('/v1/agents', { body: { name: 'at once', system_prompt: 'x', data_scope: { tables: [] } } }),
    ]);
    const sent = world.proxy.received.slice(2).map(({ method, at }) => ({ method, isLate: at - learnedAt > 900 }));
    expect(sent).toEqual([
      { method: 'POST', isLate: false },
      { method: 'GET', isLate: true },
    ]);
  });

  test('a call waits for its limit no longer than it may', async () => {
    const own = world.connect({ maxRetryWaitMs: 5_000 });
    world.proxy.plan('/v1/agents', { kind: 'headers', usedUp: 3_600 });
    await own.get('/v1/agents');
    expect((await own.get('/v1/agents')).data).toEqual(expect.any(Array));
  });

  test('pauses differ at random, grow, and are kept to', async () => {
    const failures = () => Array.from({ length: 3 }, () => ({ kind: 'answer', status: 503, code: 'unavailable' }) as const);
    const waitsOf = async () => {
      const waits: number[] = [];
      const own = world.connect({ onRetry: ({ waitMs }) => waits.push(waitMs), auth: world.credentials.api_keys.live });
      const first = world.proxy.received.length;
      world.proxy.plan('/v1/me', ...failures());
      await own.get('/v1/me');
      const times = world.proxy.received.slice(first).map(({ at }) => at);
      // A timer may fire up to a millisecond early.
      for (const [index, wait] of waits.entries()) expect((times[index + 1] ?? 0) - (times[index] ?? 0)).toBeGreaterThan(wait - 2);
      return waits;
    };
    const [one, other] = [await waitsOf(), await waitsOf()];
    for (const waits of [one, other])
      for (const [index, wait] of waits.entries()) {
        expect(wait).toBeGreaterThanOrEqual(125 * 2 ** index);
        expect(wait).toBeLessThanOrEqual(250 * 2 ** index);
      }
    expect([one.length, other.length]).toEqual([3, 3]);
    expect(one).not.toEqual(other);
  });

  test('a deprecated operation is reported for each of its answers, with its end and where its replacement is described', async () => {
    const notices: DeprecationNotice[] = [];
    const own = world.connect({ onDeprecated: (notice) => notices.push(notice) });
    const link = '<https://agents.example.com/docs/versioning>; rel="deprecation"; type="text/html"';
    const headers = { deprecation: '@1796083200', sunset: 'Tue, 01 Jun 2027 00:00:00 GMT', link };
    world.proxy.plan('/v1/templates', { kind: 'headers', set: headers }, { kind: 'headers', set: { deprecation: '@1796083200' } });
    await own.get('/v1/templates');
    await own.get('/v1/templates');
    await own.get('/v1/templates');
    const since = new Date('2026-12-01T00:00:00Z');
    expect(notices).toEqual([
      { operation: 'get /v1/templates', since, sunset: new Date('2027-06-01T00:00:00Z'), link },
      { operation: 'get /v1/templates', since, sunset: undefined, link: undefined },
    ]);
  });

  test('a refusal that does not pass by itself is not repeated', async () => {
    world.proxy.plan('/v1/agents', { kind: 'answer', status: 503, code: 'data_source_unavailable' });
    expect(await client.get('/v1/agents').catch((cause) => cause.code)).toBe('data_source_unavailable');
  });

  test('a write whose answer was lost is repeated under its key: one agent, and one charge for a message', async () => {
    const name = `once ${randomUUID()}`;
    world.proxy.plan('/v1/agents', { kind: 'lost-answer' }, { kind: 'answer', status: 503, code: 'unavailable' });
    await client.post('/v1/agents', { body: { name, system_prompt: 'x', data_scope: { tables: [] } } });
    expect((await client.get('/v1/agents', { query: { search: name } })).meta.total).toBe(1);

    const message = `How much? ${randomUUID()}`;
    const before = await spent();
    world.proxy.plan('/messages', { kind: 'lost-answer' });
    const answer = await sendMessage(client, agentId, { message });
    expect([answer.status, answer.content]).toEqual(['completed', answerText]);
    expect([timesAsked(message), (await spent()) - before]).toEqual([1, 1]);
    const keys = world.proxy.received.filter(({ path }) => path.endsWith('/messages')).map(({ headers }) => headers['idempotency-key']);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
  });

  test.each([{}, { status: 504 }])('a DELETE whose answer was lost is a success: %j', async (lost) => {
    const { data } = await client.post('/v1/agents', { body: { name: 'gone', system_prompt: 'x', data_scope: { tables: [] } } });
    world.proxy.plan(data.id, { kind: 'lost-answer', ...lost });
    const { status } = await client.request('delete', '/v1/agents/{agent_id}', { path: { agent_id: data.id } });
    expect(status).toBe(204);
    expect(await client.delete('/v1/agents/{agent_id}', { path: { agent_id: data.id } }).catch((cause) => cause.status)).toBe(404);
  });

  test('a caller’s own key makes the second call a replay', async () => {
    const options = { body: { name: 'keyed', system_prompt: 'x', data_scope: { tables: [] } }, idempotencyKey: randomUUID() };
    const [first, second] = [await client.request('post', '/v1/agents', options), await client.request('post', '/v1/agents', options)];
    expect([first.replayed, second.replayed, second.body]).toEqual([false, true, first.body]);
  });

  test('an aborted call rejects with the reason of its signal', async () => {
    const reason = new Error('the user left');
    const signal = AbortSignal.abort(reason);
    await expect(client.get('/v1/agents', { signal })).rejects.toBe(reason);
    const controller = new AbortController();
    const waiting = sendMessage(client, agentId, { message: 'a slow one' }, { signal: controller.signal });
    setImmediate(() => controller.abort(reason));
    await expect(waiting).rejects.toBe(reason);
  });

  test('a service that cannot be reached is a ConnectionError after the last attempt', async () => {
    const own = world.connect({ baseUrl: 'http://127.0.0.1:9', auth: 'token', maxRetries: 1 });
    const error = await own.get('/v1/agents').catch((cause) => cause);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error.cause).toMatchObject({ name: 'TypeError', message: 'fetch failed' });
  });
});

describe('answers', () => {
  const read = async (message: string, options: Parameters<typeof streamAnswer>[3] = {}, own = client): Promise<AnswerEvent[]> =>
    await Array.fromAsync(streamAnswer(own, agentId, { message }, options));
  const textOf = (events: AnswerEvent[]) => events.flatMap((event) => (event.type === 'delta' ? [event.text] : [])).join('');

  test('a stream yields its pieces, the text so far, and the message at the end', async () => {
    const events = await read(`How much? ${randomUUID()}`);
    expect([events[0]?.type, events.at(-1)?.type]).toEqual(['started', 'completed']);
    expect(textOf(events)).toBe(answerText);
    expect(events.at(-1)).toMatchObject({ content: answerText, message: { status: 'completed', content: answerText } });
    const usages = events.flatMap((event) => (event.type === 'completed' ? [event.message.usage] : []));
    expect(usages).toEqual([expect.objectContaining({ input_tokens: expect.any(Number) })]);
    for (const event of events) expect(answerText.startsWith(event.content)).toBe(true);
  });

  test('a stream that is cut twice goes on where it ended: one answer, one charge, the whole text', async () => {
    const message = `slow ${randomUUID()}`;
    const before = await spent();
    world.proxy.plan('/messages/stream', { kind: 'cut', afterText: 'hundred' }, { kind: 'cut', afterText: 'started' });
    const events = await read(message);
    expect(events.at(-1)).toMatchObject({ type: 'completed', content: answerText });
    expect([timesAsked(message), (await spent()) - before]).toEqual([1, 1]);
    const sent = world.proxy.received.filter(({ path }) => path.endsWith('/stream'));
    expect(sent.length).toBeGreaterThanOrEqual(2);
    expect(sent[1]?.headers['last-event-id']).toMatch(/^\d+-\d+-[0-9a-f]{8}$/);
    expect(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
  });

  test('a stream survives the death of its gateway', async () => {
    const message = `slow ${randomUUID()}`;
    const [first = '', second = ''] = world.gateways;
    world.proxy.target = second;
    try {
      const events: AnswerEvent[] = [];
      for await (const event of streamAnswer(client, agentId, { message })) {
        events.push(event);
        if (event.type !== 'delta' || world.proxy.target === first) continue;
        world.proxy.target = first;
        world.system.processes.get('gateway-2')?.kill('SIGKILL');
      }
      expect(events.at(-1)).toMatchObject({ type: 'completed', content: answerText });
      expect(timesAsked(message)).toBe(1);
    } finally {
      world.proxy.target = first;
    }
  });

  test('a failed answer throws its error and is not sent again', async () => {
    const message = `fail ${randomUUID()}`;
    const error = await read(message).catch((cause) => cause);
    expect([error.code, error.type]).toEqual(['provider_error', 'provider']);
    expect(receivedPaths().filter((path) => path.endsWith('/stream'))).toHaveLength(1);
  });

  test('leaving the loop ends the reading', async () => {
    for await (const event of streamAnswer(client, agentId, { message: 'slow' })) if (event.type === 'delta') break;
    const controller = new AbortController();
    const reason = new Error('closed');
    const left = (async () => {
      for await (const event of streamAnswer(client, agentId, { message: 'slow' }, { signal: controller.signal }))
        if (event.type === 'delta') controller.abort(reason);
    })();
    await expect(left).rejects.toBe(reason);
  });

  test('an answer that takes longer than the service waits is waited for', async () => {
    const message = `very slow ${randomUUID()}`;
    const answer = await sendMessage(client, agentId, { message });
    expect([answer.status, answer.content, timesAsked(message)]).toEqual(['completed', answerText, 1]);
  });

  test.each([{}, { waitMs: 30_000 }])('an answer is waited for by a credential that reads none, and charged once: %j', async (options) => {
    const { client_id: id, client_secret: secret } = world.credentials.oauth;
    const own = world.connect({ auth: clientCredentials(id, secret, ['agents:chat']) });
    const message = `very slow ${randomUUID()}`;
    const before = await spent();
    const answer = await sendMessage(own, agentId, { message }, options);
    expect([answer.status, answer.content]).toEqual(['completed', answerText]);
    expect([timesAsked(message), (await spent()) - before]).toEqual([1, 1]);
  });

  test('an answer is started, and read later', async () => {
    const started = await startAnswer(client, agentId, { message: `later ${randomUUID()}` });
    expect(['queued', 'running', 'completed']).toContain(started.status);
    const answer = await waitForAnswer(client, agentId, started.id);
    expect([answer.status, answer.content]).toEqual(['completed', answerText]);
    const failed = await startAnswer(client, agentId, { message: 'fail' });
    await expect(waitForAnswer(client, agentId, failed.id)).rejects.toMatchObject({
      code: 'provider_error',
      details: { message_id: failed.id },
    });
  });
});

test('the OpenAPI document describes every answer that the gateway gave the client', () => {
  expect(world.proxy.undocumented).toEqual([]);
});
