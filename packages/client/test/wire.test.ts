// Requests of the client, and answers that no gateway gives, against a scripted server.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { publicErrorCodes } from '@agent-service/contracts';
import { afterEach, expect, test } from '@jest/globals';
import {
  AgentServiceError,
  apiKey,
  type Client,
  type ClientOptions,
  ConnectionError,
  createClient,
  sendMessage,
  streamAnswer,
  waitForAnswer,
} from '../src/index.ts';

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Script = (sent: Sent, response: ServerResponse) => void;

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A server that answers as the script says, and remembers what it got. */
async function serve(script: Script): Promise<{ url: string; sent: Sent[] }> {
  const sent: Sent[] = [];
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const one = { method, path: url, headers, body: await text(request) };
    sent.push(one);
    script(one, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sent };
}

const connect = (baseUrl: string, options: Partial<ClientOptions> = {}): Client =>
  createClient({ baseUrl, auth: 'token', maxRetries: 0, ...options });

test.each(['.', '..'])('an id that a URL would resolve, %s, is sent nowhere', async (id) => {
  const { url, sent } = await serve((_sent, response) => response.writeHead(204).end());
  const path = { agent_id: 'agt_1', conversation_id: id };
  const deletion = connect(url).delete('/v1/agents/{agent_id}/conversations/{conversation_id}', { path });
  await expect(deletion).rejects.toThrow('cannot hold');
  expect(sent).toEqual([]);
});

test.each([301, 307])('a redirect (%i) gets no key and no message, and is an error that names its place', async (status) => {
  const elsewhere = await serve((_sent, response) => response.end('{}'));
  const { url, sent } = await serve((one, response) => response.writeHead(status, { location: elsewhere.url + one.path }).end());
  const body = { name: 'x', system_prompt: 'x', data_scope: { tables: [] } };
  for (const auth of [apiKey('sa_live_1'), 'token'])
    await expect(connect(url, { auth, maxRetries: 1 }).post('/v1/agents', { body })).rejects.toMatchObject({
      status,
      remedy: expect.stringContaining(`redirects to ${elsewhere.url}/v1/`),
    });
  expect(sent.map(({ path }) => path)).toEqual(['/v1/auth/token', '/v1/agents']);
  expect(elsewhere.sent).toEqual([]);
});

test('an unchanged resource is an error that says so', async () => {
  const { url } = await serve((_sent, response) => response.writeHead(304, { etag: '"7"' }).end());
  const options = { path: { agent_id: 'agt_1' }, headers: { 'If-None-Match': '"7"' } };
  const read = connect(url, { maxRetries: 4 }).get('/v1/agents/{agent_id}', options);
  const message = '304 not_modified: The resource is unchanged: its ETag is one that If-None-Match names.';
  await expect(read).rejects.toMatchObject({ status: 304, code: 'not_modified', message });
});

test('a time limit may be infinite', async () => {
  const { url } = await serve((_sent, response) => void setTimeout(() => response.end('{"data":{}}'), 50));
  await expect(connect(url, { timeoutMs: Number.POSITIVE_INFINITY }).get('/v1/me')).resolves.toEqual({ data: {} });
});

test.each(['127.0.0.1:8080', 'localhost:8080', 'agents.example.com', '/api', '', 'ftp://a.example', 'https://ann:secret@a.example'])(
  'the address %j is refused when the client is made',
  (baseUrl) => {
    const make = () => connect(baseUrl);
    expect(make).toThrow('baseUrl needs the form');
    expect(make).not.toThrow('secret');
  },
);

test('a token or a key that no header can hold is refused without a retry, and is in no error', async () => {
  const { url, sent } = await serve((_sent, response) => response.end('{"data":{}}'));
  const retries: unknown[] = [];
  const onRetry = (retry: unknown) => void retries.push(retry);
  const options = { maxRetries: 4, onRetry };
  const unusable = connect(url, { ...options, auth: 'sa_live_1\nsecret' });
  const body = { name: 'x', system_prompt: 'x', data_scope: { tables: [] } };
  const calls = [
    () => unusable.get('/v1/me'),
    () => streamAnswer(unusable, 'agt_1', { message: 'x' }).next(),
    () => connect(url, options).post('/v1/agents', { body, idempotencyKey: '注文-1' }),
  ];
  for (const call of calls) {
    const error = await call().then(String, (cause: unknown) => cause);
    expect(error).toBeInstanceOf(AgentServiceError);
    expect(error).not.toBeInstanceOf(ConnectionError);
    expect(inspect(error)).not.toContain('secret');
  }
  expect([retries, sent]).toEqual([[], []]);
  // A file often ends with a line break, which is left out.
  await connect(url, { auth: 'sa_live_1\n' }).get('/v1/me');
  expect(sent[0]?.headers.authorization).toBe('Bearer sa_live_1');
});

test('a stream pauses by the rules of its client: each pause is told, and one that is too long ends it', async () => {
  let retryAfter = '0';
  const { url, sent } = await serve((_sent, response) => response.writeHead(503, { 'retry-after': retryAfter }).end());
  const retries: unknown[] = [];
  const client = connect(url, { maxRetries: 1, maxRetryWaitMs: 5_000, onRetry: ({ attempt }) => void retries.push(attempt) });
  const first = () => streamAnswer(client, 'agt_1', { message: 'x' }).next();
  await expect(first()).rejects.toMatchObject({ status: 503 });
  expect([sent.length, retries]).toEqual([2, [1]]);
  retryAfter = '6';
  await expect(first()).rejects.toMatchObject({ status: 503, retryAfterSeconds: 6 });
  expect([sent.length, retries]).toEqual([3, [1]]);
});

test('a stream has the headers of its caller, such as an Idempotency-Key, in place of its own', async () => {
  const { url, sent } = await serve((_sent, response) => response.writeHead(400).end());
  const headers = { 'Idempotency-Key': 'order-7', Authorization: 'Bearer other', Accept: 'text/html', 'X-Trace': '1' };
  await expect(streamAnswer(connect(url), 'agt_1', { message: 'x' }, { headers }).next()).rejects.toMatchObject({ status: 400 });
  expect(sent[0]?.headers).toMatchObject({
    'idempotency-key': 'order-7',
    authorization: 'Bearer token',
    accept: 'text/event-stream',
    'content-type': 'application/json',
    'x-trace': '1',
  });
});

/** A service whose answer is never there: it waits as long as it is asked to, and sends a message's own POST no answer unless that prefers 202. */
const unfinished: Script = ({ method, headers }, response) => {
  const data = { data: { id: 'msg_1', status: 'running' } };
  const [, seconds] = /^wait=(\d+)$/.exec(String(headers['prefer'])) ?? [];
  if (method === 'POST' && headers['prefer'] !== 'respond-async') return;
  setTimeout(() => response.end(JSON.stringify(data)), Number(seconds ?? 0) * 1_000).unref();
};

test('sendMessage waits no longer than it may in all, and its error names the message', async () => {
  const { url } = await serve(unfinished);
  const waiting = sendMessage(connect(url), 'agt_1', { message: 'x' }, { waitMs: 700, timeoutMs: 5_000 });
  await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('msg_1') });
});

/** A service whose answer is never there, to a credential that may only send messages. */
const unread: Script = ({ method, headers }, response) => {
  const isAsync = headers['prefer'] === 'respond-async';
  const error = { type: 'provider', code: 'answer_timeout', message: '', param: null, details: { message_id: 'msg_1', status: 'running' } };
  if (method === 'GET') response.writeHead(403).end('{"error":{"type":"permission","code":"insufficient_scope"}}');
  else response.writeHead(isAsync ? 202 : 504).end(JSON.stringify(isAsync ? { data: { id: 'msg_1', status: 'running' } } : { error }));
};

test('a credential that reads no answer waits for one by sending the message again under its key, as long as it may', async () => {
  const { url, sent } = await serve(unread);
  const waiting = sendMessage(connect(url), 'agt_1', { message: 'x' }, { waitMs: 1_200 });
  await expect(waiting).rejects.toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('msg_1') });
  const messages = sent.filter(({ method }) => method === 'POST');
  expect(new Set(messages.map(({ headers, body }) => `${headers['idempotency-key']} ${body}`)).size).toBe(1);
  // A service that does not wait is asked with pauses.
  expect([messages.length > 1, messages.length < 5]).toEqual([true, true]);
});

test('a function, whose next token may be another caller, never sends a message again that it may not read', async () => {
  const { url, sent } = await serve(unread);
  let tokens = 0;
  const client = connect(url, { auth: () => `token-${++tokens}` });
  for (const options of [{}, { waitMs: 10_000 }])
    await expect(sendMessage(client, 'agt_1', { message: 'x' }, options)).rejects.toMatchObject({
      status: 403,
      code: 'insufficient_scope',
    });
  expect(sent.map(({ method }) => method)).toEqual(['POST', 'GET', 'POST', 'GET']);
});

/** Writes the answer of a message, or the events of its stream. */
const completed: Script = ({ path }, response) => {
  const message = { id: 'msg_1', status: 'completed', content: '' };
  response.end(path.endsWith('/stream') ? `event: completed\ndata: ${JSON.stringify(message)}\n\n` : JSON.stringify({ data: message }));
};
const started = 'id: 1\nevent: started\ndata: {"message_id":"msg_1","conversation_id":"c","attempt":1}\n\n';

/** How the service treats the first requests: a status, a lost connection, or a stream that is cut after its first event. */
type Treatment = number | 'lost' | 'cut';

async function serveAfter(...treatments: Treatment[]): Promise<{ url: string; tokens: () => unknown[] }> {
  const { url, sent } = await serve((one, response) => {
    const treatment = treatments[sent.length - 1];
    if (treatment === 'lost') response.destroy();
    else if (treatment === 'cut') response.write(started, () => response.destroy());
    else if (treatment !== undefined) response.writeHead(treatment).end();
    else completed(one, response);
  });
  return { url, tokens: () => sent.map(({ headers }) => headers.authorization?.replace('Bearer ', '')) };
}

const calls = {
  message: async (client: Client) => void (await sendMessage(client, 'agt_1', { message: 'x' })),
  stream: async (client: Client) => void (await Array.fromAsync(streamAnswer(client, 'agt_1', { message: 'x' }))),
};

test.each<[keyof typeof calls, Treatment[], string[]]>([
  ['message', ['lost'], ['token-1', 'token-1']],
  ['message', [503], ['token-1', 'token-1']],
  ['message', [429, 401], ['token-1', 'token-1', 'token-2']],
  ['message', [401, 'lost'], ['token-1', 'token-2', 'token-2']],
  ['stream', ['lost'], ['token-1', 'token-1']],
  ['stream', ['cut'], ['token-1', 'token-1']],
  ['stream', [401, 'cut'], ['token-1', 'token-2', 'token-2']],
])('a %s keeps the token of a function after %j, since with a new token it would be a second message', async (call, treatments, tokens) => {
  const service = await serveAfter(...treatments);
  let count = 0;
  await calls[call](connect(service.url, { auth: () => `token-${++count}`, maxRetries: 2 }));
  expect(service.tokens()).toEqual(tokens);
});

test.each<[keyof typeof calls, Treatment[]]>([
  ['message', ['lost', 401]],
  ['stream', ['cut', 401]],
])(
  'a %s whose token is refused after %j ends with the refusal, and with a renewed token where that is of one credential',
  async (call, treatments) => {
    const service = await serveAfter(...treatments);
    let count = 0;
    const token = async () => `token-${++count}`;
    await expect(calls[call](connect(service.url, { auth: token, maxRetries: 2 }))).rejects.toMatchObject({ status: 401 });
    expect(service.tokens()).toEqual(['token-1', 'token-1']);
    const own = await serveAfter(...treatments);
    const auth = { token, refused: () => undefined, isOneCredential: true };
    await calls[call](connect(own.url, { auth, maxRetries: 2 }));
    expect(own.tokens()).toEqual(['token-2', 'token-3', 'token-4']);
  },
);

test('a stream of a client without createSender sends each attempt with its send', async () => {
  const service = await serveAfter('cut');
  const { createSender: _, ...own } = connect(service.url, { maxRetries: 1 });
  await calls.stream(own);
  expect(service.tokens()).toEqual(['token', 'token']);
});

test.each<[Treatment[]]>([[['lost', 401]], [[503, 401]]])('a read takes the next token of a function after %j', async (treatments) => {
  const service = await serveAfter(...treatments);
  let count = 0;
  await connect(service.url, { auth: () => `token-${++count}`, maxRetries: 2 }).get('/v1/me');
  expect(service.tokens()).toEqual(['token-1', 'token-1', 'token-2']);
});

test('the used-up limit of one caller holds back no call with the next token of a function, and every call of one credential', async () => {
  const { url, sent } = await serve((_sent, response) => response.setHeader('ratelimit', '"reads";r=0;t=30').end('{"data":{}}'));
  const mixed = connect(url, { auth: () => `token-${sent.length}` });
  await mixed.get('/v1/me');
  await mixed.get('/v1/me', { signal: AbortSignal.timeout(10_000) });
  expect(sent.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-0', 'Bearer token-1']);
  const own = connect(url);
  await own.get('/v1/me');
  await expect(own.get('/v1/me', { signal: AbortSignal.timeout(200) })).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(sent).toHaveLength(3);
});

test.each(['message', 'stream'] as const)('a %s whose auth function fails throws its own error, and calls it once', async (call) => {
  const { url, sent } = await serve(completed);
  const failure = new Error('signed out');
  let count = 0;
  const auth = () => {
    count += 1;
    throw failure;
  };
  await expect(calls[call](connect(url, { auth, maxRetries: 4 }))).rejects.toBe(failure);
  expect([count, sent]).toEqual([1, []]);
});

test.each([
  { status: 503, code: 'unavailable' },
  { status: 503, code: 'deadline_exceeded' },
  { status: 500, code: 'internal' },
  { status: 503, code: 'a_later_one' },
  { status: 429, code: 'rate_limited', type: 'rate_limit', isRefusal: true },
  { status: 429, code: 'a_later_one', type: 'rate_limit', isRefusal: true },
])(
  'what a DELETE after a $status $code does not find is deleted, but for a refusal',
  async ({ status, code, type = 'internal', isRefusal }) => {
    const { url, sent } = await serve((_sent, response) => {
      const [answerStatus, answerCode] = sent.length === 1 ? [status, code] : [404, 'not_found'];
      response.writeHead(answerStatus).end(JSON.stringify({ error: { type, code: answerCode } }));
    });
    const path = { agent_id: 'agt_1' };
    const deletion = connect(url, { maxRetries: 1 }).request('delete', '/v1/agents/{agent_id}', { path });
    expect(await deletion.catch((cause) => cause)).toMatchObject({ status: isRefusal ? 404 : 204 });
    expect(sent).toHaveLength(2);
  },
);

test.each([
  { status: 429, type: 'rate_limit', isRepeated: true },
  { status: 503, type: 'internal', isRepeated: true },
  { status: 400, type: 'internal', isRepeated: false },
  { status: 503, type: 'provider', isRepeated: false },
  { status: 409, type: 'conflict', isRepeated: false },
])('a code of a later version is judged by its type: $status $type, repeated: $isRepeated', async ({ status, type, isRepeated }) => {
  const { url, sent } = await serve((one, response) => {
    if (sent.length > 1) completed(one, response);
    else response.writeHead(status).end(JSON.stringify({ error: { type, code: 'a_later_one' } }));
  });
  const outcome = await sendMessage(connect(url, { maxRetries: 1 }), 'agt_1', { message: 'x' }).catch((cause) => cause);
  expect([sent.length, outcome.status]).toEqual(isRepeated ? [2, 'completed'] : [1, status]);
});

/** A service whose answer is there at the third read. */
function thirdRead(): Script {
  let reads = 0;
  return (_sent, response) => {
    reads += 1;
    response.end(JSON.stringify({ data: { id: 'msg_1', status: reads < 3 ? 'running' : 'completed' } }));
  };
}

test('each request for an answer waits for half of its own time limit', async () => {
  const { url, sent } = await serve(thirdRead());
  const answer = await waitForAnswer(connect(url, { timeoutMs: 8_000 }), 'agt_1', 'msg_1', { waitMs: 60_000 });
  expect(answer).toMatchObject({ status: 'completed' });
  expect(sent.map(({ headers }) => headers['prefer'])).toEqual(['wait=4', 'wait=4', 'wait=4']);
});

test('the last request for an answer waits no longer than the wait in all, but for a second', async () => {
  const { url, sent } = await serve(unfinished);
  const waiting = waitForAnswer(connect(url), 'agt_1', 'msg_1', { waitMs: 100 });
  await expect(waiting).rejects.toThrow('has not ended within 100 ms');
  expect(sent.map(({ headers }) => headers['prefer'])).toEqual(['wait=1']);
});

test('an answer is waited for also with a time limit that has no room for the shortest wait of the service', async () => {
  const { url, sent } = await serve(thirdRead());
  const answer = await waitForAnswer(connect(url, { timeoutMs: 1_900 }), 'agt_1', 'msg_1');
  expect(answer).toMatchObject({ status: 'completed' });
  expect(sent.map(({ headers }) => headers['prefer'])).toEqual([undefined, undefined, undefined]);
});

test('the wait for an answer also ends where the service is silent', async () => {
  const { url } = await serve(() => undefined);
  const client = connect(url, { maxRetries: 4 });
  await expect(sendMessage(client, 'agt_1', { message: 'x' }, { waitMs: 100 })).rejects.toMatchObject({ name: 'TimeoutError' });
  await expect(waitForAnswer(client, 'agt_1', 'msg_1', { waitMs: 100 })).rejects.toThrow('The answer msg_1 has not ended within 100 ms.');
});

test.each(['<h1>Sign in</h1>', '{}', '{"data":{"access_token":"x"}}'])(
  'a token endpoint that gives no token is an error at once: %s',
  async (text) => {
    const { url, sent } = await serve((_sent, response) => response.end(text));
    const call = connect(url, { auth: apiKey('sa_live_1'), maxRetries: 4 }).get('/v1/me');
    await expect(call).rejects.toMatchObject({ name: 'AgentServiceError', message: expect.stringContaining('no token') });
    expect(sent).toHaveLength(1);
  },
);

/** Every code with which an answer can end. */
const failures = Object.entries(publicErrorCodes)
  .filter(([, { type }]) => ['provider', 'internal'].includes(type))
  .map(([code, { type, http }]) => ({ code, type, status: http }))
  .concat({ code: 'answer_cancelled', type: 'conflict', status: 409 }, { code: 'change_unfinished', type: 'conflict', status: 409 })
  .concat({ code: 'agent_deleted', type: 'not_found', status: 404 }, { code: 'a_later_one', type: 'provider', status: 502 });

test.each(failures)('an answer that ends with $code has the status $status, streamed or read later', async ({ code, type, status }) => {
  const error = { type, code, message: 'Why.', param: null, details: { message_id: 'msg_1' } };
  const { url } = await serve(({ method }, response) => {
    if (method === 'POST') response.end(`event: failed\ndata: ${JSON.stringify({ error })}\n\n`);
    else response.end(JSON.stringify({ data: { id: 'msg_1', status: 'failed', content: 'No answer. Why.', error } }));
  });
  const failure = { status, code, type, details: { message_id: 'msg_1' }, message: `${status} ${code}: Why.` };
  await expect(streamAnswer(connect(url), 'agt_1', { message: 'x' }).next()).rejects.toMatchObject(failure);
  await expect(waitForAnswer(connect(url), 'agt_1', 'msg_1')).rejects.toMatchObject(failure);
});

test.each([
  ['failed', 'Why.', '502 provider_error: Why.'],
  ['cancelled', 'Cancelled.', '409 answer_cancelled: Cancelled.'],
  ['cancelled', '', '409 answer_cancelled: The answer was cancelled.'],
])('an answer that ended as %s, read from a service that does not say why, has its text: %j', async (status, content, text) => {
  const { url } = await serve((_sent, response) => response.end(JSON.stringify({ data: { id: 'msg_1', status, content } })));
  const failure = { message: text, details: { message_id: 'msg_1' } };
  await expect(waitForAnswer(connect(url), 'agt_1', 'msg_1')).rejects.toMatchObject(failure);
});
