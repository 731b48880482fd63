import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Readable } from 'node:stream';
import { type ChatRequest, type ModelReply, sparseAnswer, until } from '@agent-service/testkit';
import { describe, expect, test } from '@jest/globals';
import { failing, good, refusal, spareContent, twoEndpoints } from './endpoints.ts';
import { ask, metric } from './harness.ts';

const eventStream = { 'content-type': 'text/event-stream' };
const endpoints = twoEndpoints();

const streamed = [false, true].map((stream) => ({ stream }));

describe.each(streamed)('streamed $stream', ({ stream }) => {
  test.each<[string, ModelReply]>([
    ['429', { kind: 'failure', status: 429 }],
    ['500', { kind: 'failure', status: 500 }],
    ['503', failing],
    ['408', { kind: 'failure', status: 408 }],
    ['a page of a proxy', { kind: 'raw', headers: { 'content-type': 'text/html' }, body: '<html>Bad gateway</html>' }],
    ['another object', { kind: 'raw', body: '{"ok":true}' }],
    ['an answer without text', { kind: 'text', text: ' ' }],
  ])('a failure that may be temporary is tried three times with pauses: %s', async (_, reply) => {
    endpoints.reply(reply, reply, good);
    const { models, pauses } = endpoints.open();
    const answer = await ask(models, { stream });
    expect(answer).toMatchObject({ content: good.text, read: stream ? good.text : '' });
    expect(endpoints.calls()).toEqual({ main: 3, spare: 0 });
    expect(pauses).toEqual([500, 1_000]);
  });

  test('after three tries the next endpoint is called, and after the last one the answer fails', async () => {
    endpoints.reply(failing);
    const both = endpoints.open();
    const answer = await ask(both.models, { stream });
    expect(answer).toMatchObject({ content: spareContent, endpoint: `${new URL(endpoints.spare.url).host}/m` });
    expect(endpoints.calls()).toEqual({ main: 3, spare: 1 });
    const { code, details, message } = await refusal(ask(endpoints.open({ alone: true }).models, { stream }));
    expect({ code, details }).toEqual({ code: 'provider_error', details: { reason: 'server_error' } });
    expect(message).toMatch(/No credits were charged/);
    expect(await metric(both.metrics, 'model_call_failures_total', { kind: 'server_error' })).toBe(3);
  });

  test.each([400, 401, 403, 404, 413, 422])('after status %d the next endpoint is called at once', async (status) => {
    endpoints.reply({ kind: 'failure', status });
    const { models, pauses } = endpoints.open();
    expect(await ask(models, { stream })).toMatchObject({ content: spareContent });
    expect(endpoints.calls()).toEqual({ main: 1, spare: 1 });
    expect(pauses).toEqual([]);
  });

  test('a redirect is not followed', async () => {
    endpoints.reply({ kind: 'raw', status: 307, headers: { location: `${endpoints.spare.url}/chat/completions` }, body: '' });
    expect(await refusal(ask(endpoints.open({ alone: true }).models, { stream }))).toMatchObject({ details: { reason: 'denied' } });
    expect(endpoints.calls()).toEqual({ main: 1, spare: 0 });
  });

  test('a silent endpoint is called three times, each up to its time limit', async () => {
    endpoints.reply({ kind: 'silence' });
    const { models } = endpoints.open({ endpoint: { timeoutMs: 150 } });
    const began = performance.now();
    expect(await ask(models, { stream })).toMatchObject({ content: spareContent });
    expect(performance.now() - began).toBeGreaterThan(440);
    expect(endpoints.calls()).toEqual({ main: 3, spare: 1 });
  });

  test('an abort of the caller ends the answer at once with its reason, and closes the connection', async () => {
    endpoints.reply({ kind: 'silence' });
    const abandoned = endpoints.main.abandoned;
    const { models, metrics } = endpoints.open();
    const abort = new AbortController();
    const reason = new Error('no longer needed');
    const answer = ask(models, { stream }, abort.signal);
    const rejected = expect(answer).rejects.toBe(reason);
    await until(() => endpoints.calls().main === 1);
    abort.abort(reason);
    await rejected;
    await until(() => endpoints.main.abandoned > abandoned);
    await expect(ask(models, { stream }, abort.signal)).rejects.toBe(reason);
    expect(endpoints.calls()).toEqual({ main: 1, spare: 0 });
    expect(await metric(metrics, 'model_call_failures_total', {})).toBe(0);
  });

  test('an abort of the caller ends a pause', async () => {
    endpoints.reply(failing);
    const abort = new AbortController();
    const reason = new Error('no longer needed');
    const pause = (_ms: number, signal: AbortSignal) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
        abort.abort(reason);
      });
    await expect(ask(endpoints.open({ conditions: { pause } }).models, { stream }, abort.signal)).rejects.toBe(reason);
    expect(endpoints.calls()).toEqual({ main: 1, spare: 0 });
  });

  test('after an endpoint that cannot be reached or resolved, the next one is called', async () => {
    // A port that no other suite can be given, and a label that is too long to be looked up.
    for (const baseUrl of ['http://127.0.0.1:9/v1', `http://${'nowhere'.repeat(10)}.invalid/v1`]) {
      expect(await ask(endpoints.open({ endpoint: { baseUrl } }).models, { stream })).toMatchObject({ content: spareContent });
      const failure = await refusal(ask(endpoints.open({ endpoint: { baseUrl }, alone: true }).models, { stream }));
      expect(failure.details).toEqual({ reason: 'connection' });
      expect(failure.message).not.toMatch(/127|nowhere/);
    }
  });

  test.each([
    ['text', `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(10_000)}"},"finish_reason":null}]}\n\n`],
    ['comments', `: ${'x'.repeat(10_000)}\n\n`],
  ])('%s without end closes the connection', async (_, piece) => {
    let closed = 0;
    const endless = createHttpServer((_, response) => {
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      Readable.from(repeat(piece)).pipe(response);
      response.on('close', () => (closed += 1));
    }).listen(0, '127.0.0.1');
    await once(endless, 'listening');
    const { models } = endpoints.open({ endpoint: { baseUrl: `http://127.0.0.1:${portOf(endless)}/v1` }, alone: true });
    expect(await refusal(ask(models, { stream }))).toMatchObject({ details: { reason: 'too_large' } });
    await until(() => closed === 1);
    endless.close();
  });

  test.each([
    ['with a long text', '', 'x'.repeat(500)],
    ['behind blanks', ' '.repeat(500), 'Small.'],
  ])('an answer %s in chunks of one byte takes no more memory than its bytes', async (_, blanks, content) => {
    const server = await sparseAnswer(`${blanks}${JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }] })}`);
    const { models } = endpoints.open({ endpoint: { baseUrl: server.url }, alone: true });
    expect(await ask(models, { stream })).toMatchObject({ content });
    expect(await server.heldBytes).toBeLessThan(10_000_000);
    server.stop();
  });

  test('more calls of tools than any model makes end the call, and do not hold the process up', async () => {
    const calls = Array.from({ length: 30_000 }, (_, index) => ({ index, function: { name: 'query', arguments: '{}' } }));
    const message = { tool_calls: calls };
    const body = stream
      ? `data: ${JSON.stringify({ choices: [{ delta: message, finish_reason: 'tool_calls' }] })}\n\n`
      : JSON.stringify({ choices: [{ message, finish_reason: 'tool_calls' }] });
    endpoints.reply({ kind: 'raw', headers: stream ? eventStream : {}, body });
    const { models } = endpoints.open({ alone: true });
    expect(await refusal(ask(models, { stream }))).toMatchObject({ details: { reason: 'too_large' } });
    expect(endpoints.calls()).toEqual({ main: 1, spare: 0 });
  });

  test('a filtered answer fails, and no other endpoint is called', async () => {
    endpoints.reply({ kind: 'text', text: 'Half an', finish: 'content_filter' });
    const failure = await refusal(ask(endpoints.open().models, { stream }));
    expect(failure).toMatchObject({ code: 'provider_error', details: { reason: 'filtered' } });
    expect(endpoints.calls()).toEqual({ main: 1, spare: 0 });
  });

  test('an answer whose length was used up without a text is not tried again at that endpoint', async () => {
    endpoints.reply({ kind: 'text', text: '', finish: 'length' });
    expect(await ask(endpoints.open().models, { stream })).toMatchObject({ content: spareContent });
    expect(endpoints.calls()).toEqual({ main: 1, spare: 1 });
  });
});

describe('a stream', () => {
  test.each(['cut', 'end', 'silence'] as const)('that ends early by %s is restarted, and the text so far is void', async (by) => {
    endpoints.reply({ kind: 'unfinished', text: 'The month went', by }, good);
    const { models } = endpoints.open({ endpoint: { timeoutMs: 400 } });
    const answer = await ask(models, { stream: true });
    expect(answer).toMatchObject({ content: good.text, read: good.text, restarts: 1 });
    expect(endpoints.calls()).toEqual({ main: 2, spare: 0 });
  });

  test.each(['cut', 'end'] as const)('of Anthropic that ends early by %s is restarted as well', async (by) => {
    endpoints.reply({ kind: 'unfinished', text: 'The month went', by }, good);
    const { models } = endpoints.open({ endpoint: { provider: 'anthropic' } });
    expect(await ask(models, { stream: true })).toMatchObject({ content: good.text, read: good.text, restarts: 1 });
  });

  test.each([
    ['{"message":"Overloaded","type":"server_error","code":null}', 3],
    ['{"message":"Slow down","type":"rate_limit_error"}', 3],
    ['{"message":"Slow down","code":429}', 3],
    ['{"message":"No","type":"invalid_request_error"}', 1],
  ])('that ends with the error %s is retried according to it', async (error, tries) => {
    endpoints.reply({ kind: 'raw', headers: eventStream, body: `data: {"error":${error}}\n\n` });
    expect(await ask(endpoints.open().models, { stream: true })).toMatchObject({ content: spareContent });
    expect(endpoints.calls()).toEqual({ main: tries, spare: 1 });
  });

  test.each([
    ['openai-compatible', 'data: {"choices":[{"delta":{"content":"Done."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'],
    [
      'anthropic',
      ['{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Done."}}', '{"type":"message_stop"}']
        .map((data) => `data: ${data}\n\n`)
        .join(''),
    ],
  ] as const)('of %s has ended with its last event, also if the connection is left open, which is then closed', async (provider, body) => {
    let [calls, closed] = [0, 0];
    const lingering = createHttpServer((_, response) => {
      calls += 1;
      response.writeHead(200, eventStream).write(body);
      response.on('close', () => (closed += 1));
    }).listen(0, '127.0.0.1');
    await once(lingering, 'listening');
    const { models } = endpoints.open({
      endpoint: { provider, baseUrl: `http://127.0.0.1:${portOf(lingering)}/v1`, timeoutMs: 300 },
      alone: true,
    });
    expect(await ask(models, { stream: true })).toMatchObject({ content: 'Done.', restarts: 0 });
    expect(calls).toBe(1);
    await until(() => closed === 1);
    lingering.close();
  });

  test.each([
    ['openai-compatible', { choices: [{ message: { content: 'Whole.' }, finish_reason: 'stop' }] }],
    ['anthropic', { type: 'message', content: [{ type: 'text', text: 'Whole.' }], stop_reason: 'end_turn' }],
  ] as const)('that %s gives as one whole answer is read as such', async (provider, answer) => {
    endpoints.reply({ kind: 'raw', body: JSON.stringify(answer) });
    const { models } = endpoints.open({ endpoint: { provider } });
    expect(await ask(models, { stream: true })).toMatchObject({ content: 'Whole.', read: 'Whole.', restarts: 0 });
    expect(endpoints.calls()).toEqual({ main: 1, spare: 0 });
  });

  test.each([
    ['the blank lines with which servers keep a connection open', '\n         \n\r\n'],
    ['a byte order mark', '\ufeff'],
  ])('that is one whole answer behind %s is read as such', async (_name, start) => {
    const answer = { choices: [{ message: { content: 'Whole.' }, finish_reason: 'stop' }] };
    endpoints.reply({ kind: 'raw', body: start + JSON.stringify(answer) });
    const { models } = endpoints.open();
    expect(await ask(models, { stream: true })).toMatchObject({ content: 'Whole.', read: 'Whole.', restarts: 0 });
    expect(endpoints.calls()).toEqual({ main: 1, spare: 0 });
  });

  test('may take longer than the limit of a piece, but not longer than its total limit', async () => {
    const trickle = (count: number): ModelReply => ({ kind: 'text', text: 'so '.repeat(count), pieceDelayMs: 60 });
    const { models } = endpoints.open({ endpoint: { timeoutMs: 360 }, alone: true });
    endpoints.reply(trickle(10));
    expect(await ask(models, { stream: true })).toMatchObject({ restarts: 0 });
    endpoints.reply(trickle(60), good);
    expect(await ask(models, { stream: true })).toMatchObject({ content: good.text, restarts: 1 });
  });
});

describe('Retry-After', () => {
  test.each<[Record<string, string | string[]>, number]>([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': '0' }, 500],
    [{ 'retry-after-ms': '700' }, 700],
    [{ 'retry-after': 'soon' }, 500],
    [{ 'retry-after': '10' }, 10_000],
    // A provider and a proxy before it.
    [{ 'retry-after': ['2', '2'] }, 2_000],
    [{ 'retry-after-ms': ['700', '700'] }, 700],
  ])('%j sets the pause', async (headers, pauseMs) => {
    endpoints.reply({ kind: 'failure', status: 429, headers: headers as Record<string, string> }, good);
    const { models, pauses } = endpoints.open();
    expect(await ask(models)).toMatchObject({ content: good.text });
    expect(pauses).toEqual([pauseMs]);
  });

  test('above ten seconds the next endpoint is called instead', async () => {
    endpoints.reply({ kind: 'failure', status: 429, headers: { 'retry-after': '11' } });
    const { models, pauses } = endpoints.open();
    expect(await ask(models)).toMatchObject({ content: spareContent });
    expect(pauses).toEqual([]);
  });
});

describe('an answer that goes on at a fallback', () => {
  const call = (id: string) => ({
    id,
    function: { name: 'query', arguments: '{}' },
    extra_content: { google: { thought_signature: 's' } },
  });
  const calls = (...ids: string[]): ModelReply => ({
    kind: 'raw',
    body: JSON.stringify({
      choices: [{ message: { reasoning_content: 'I think.', tool_calls: ids.map(call) }, finish_reason: 'tool_calls' }],
    }),
  });
  const tools = [{ name: 'query', description: '', parameters: {}, run: async () => '12' }];
  /** As vLLM makes them, and as long as OpenAI refuses them. */
  const longId = (digit: string) => `chatcmpl-tool-${digit.repeat(32)}`;
  const itsId = /^[a-zA-Z0-9]{9}$/;
  const foreign = /chatcmpl|thought_signature|I think/;

  test('shows the fallback no ids, thoughts and signatures of the endpoint before it, but its own', async () => {
    endpoints.reply(calls(longId('0'), longId('1')), calls(longId('0')), failing);
    const requests: ChatRequest[] = [];
    endpoints.spare.follow((request) => {
      requests.push(request);
      return requests.length === 1 ? calls('c00000002') : good;
    });
    expect(await ask(endpoints.open().models, { tools })).toMatchObject({ content: good.text });
    expect(JSON.stringify(requests[0])).not.toMatch(foreign);
    for (const request of requests) {
      const sent = request.messages.flatMap(({ tool_calls }) => (tool_calls ?? []) as { id: string }[]).map(({ id }) => id);
      expect(sent).toEqual(sent.map(() => expect.stringMatching(itsId)));
      expect(new Set(sent).size).toBe(sent.length);
      expect(request.messages.flatMap(({ tool_call_id }) => tool_call_id ?? [])).toEqual(sent);
    }
    const own = { reasoning_content: 'I think.', tool_calls: [{ ...call('c00000002'), type: 'function' }] };
    expect(requests[1]?.messages.filter(({ tool_calls }) => tool_calls)).toMatchObject([{}, {}, own]);
  });

  test('has ids that Anthropic accepts', async () => {
    endpoints.reply(calls('functions.query:0'), failing);
    expect(await ask(endpoints.open({ fallback: { provider: 'anthropic' } }).models, { tools })).toMatchObject({ content: spareContent });
    const [used, result] =
      endpoints.spare.calls
        .at(-1)
        ?.messages.slice(-2)
        .flatMap(({ content }) => content as object[]) ?? [];
    expect(used).toEqual({ type: 'tool_use', id: expect.stringMatching(itsId), name: 'query', input: {} });
    expect(result).toMatchObject({ type: 'tool_result', tool_use_id: (used as { id?: string }).id });
  });

  test('has ids that every provider accepts also where the model wrote none', async () => {
    endpoints.reply(calls('', ''), good);
    await ask(endpoints.open().models, { tools });
    const ids = endpoints.main.calls.at(-1)?.messages.flatMap(({ tool_call_id }) => tool_call_id ?? []);
    expect(ids).toEqual([expect.stringMatching(itsId), expect.stringMatching(itsId)]);
  });
});

test('neither errors nor the log contain keys, prompts or texts of the provider', async () => {
  const secrets = ['sk-very-secret', 'private question', 'private instruction', 'upstream detail'];
  const message = 'Key sk-very-secret is wrong; upstream detail; asked: private question';
  const env = { MY_KEY: 'sk-very-secret' };
  for (const status of [400, 401, 429, 500]) {
    endpoints.reply({ kind: 'failure', status, message });
    const { models, logged } = endpoints.open({ endpoint: { apiKeyEnv: 'MY_KEY' }, env, alone: true });
    const failure = await refusal(ask(models, { message: 'private question', instructions: 'private instruction' }));
    const output = JSON.stringify([failure, failure.message, causesOf(failure), logged]);
    for (const secret of secrets) expect(output).not.toContain(secret);
    expect(logged.join()).toContain(`"status":${status}`);
  }
});

test('a connection that ends within an answer is tried again', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"choices":['));
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { models, metrics } = endpoints.open({ endpoint: { baseUrl: `http://127.0.0.1:${portOf(server)}/v1` } });
  expect(await ask(models)).toMatchObject({ content: spareContent });
  expect(
    (await metric(metrics, 'model_call_failures_total', { kind: 'connection' })) +
      (await metric(metrics, 'model_call_failures_total', { kind: 'cut' })),
  ).toBe(3);
  server.close();
  await once(server, 'close');
});

const portOf = (server: Server) => (server.address() as AddressInfo).port;

function* repeat(text: string) {
  for (;;) yield text;
}

function causesOf(error: Error): unknown[] {
  const { cause } = error;
  return cause instanceof Error ? [cause.message, cause.stack, { ...cause }, ...causesOf(cause)] : [cause];
}
