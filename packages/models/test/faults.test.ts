import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Readable } from 'node:stream';
import { ServiceError } from '@agent-service/contracts';
import { freePort, type ModelReply, type ScriptedModel, scriptedModel } from '@agent-service/testkit';
import { abortable } from '@agent-service/work';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Models } from '../src/models.ts';
import { ask, metric, type TestModelsOptions, testModels } from './harness.ts';

const good: ModelReply = { kind: 'text', text: 'All went well.' };
const failing: ModelReply = { kind: 'failure', status: 503 };
const eventStream = { 'content-type': 'text/event-stream' };

let main: ScriptedModel;
let spare: ScriptedModel;
beforeAll(async () => {
  main = await scriptedModel(() => good);
  spare = await scriptedModel(() => good);
});
afterAll(async () => {
  await main?.stop();
  await spare?.stop();
});

const asked = { main: 0, spare: 0 };
const calls = () => ({ main: main.calls.length - asked.main, spare: spare.calls.length - asked.spare });
beforeEach(() => {
  asked.main = main.calls.length;
  asked.spare = spare.calls.length;
  spare.follow(() => ({ kind: 'text', text: 'From the spare one.' }));
});

const opened: Models[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((models) => models.close()));
});

interface Opening extends Omit<TestModelsOptions, 'endpoints'> {
  endpoint?: object;
  alone?: boolean;
}

function open({ endpoint, alone = false, ...options }: Opening = {}) {
  const first = { baseUrl: main.url, ...endpoint };
  const made = testModels({ ...options, endpoints: alone ? [first] : [first, { baseUrl: spare.url }] });
  opened.push(made.models);
  return made;
}

/** These replies one after the other, the last for ever. */
function replies(...script: ModelReply[]) {
  const begun = main.calls.length;
  main.follow((_, call) => script[Math.min(call - begun, script.length) - 1] ?? good);
}

/** The failure as the caller gets it. */
async function refusal(answer: Promise<unknown>): Promise<ServiceError> {
  const failure = await answer.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (failure instanceof ServiceError) return failure;
  throw new Error('not refused as a ServiceError', { cause: failure });
}

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
  ])('what may pass is tried three times with pauses, here %s', async (_, reply) => {
    replies(reply, reply, good);
    const { models, pauses } = open();
    const answer = await ask(models, { stream });
    expect(answer).toMatchObject({ content: good.text, read: stream ? good.text : '' });
    expect(calls()).toEqual({ main: 3, spare: 0 });
    expect(pauses).toEqual([500, 1_000]);
  });

  test('after three tries the next endpoint is asked, and after the last one the caller is told', async () => {
    replies(failing);
    const both = open();
    const answer = await ask(both.models, { stream });
    expect(answer).toMatchObject({ content: 'From the spare one.', endpoint: `${new URL(spare.url).host}/m` });
    expect(calls()).toEqual({ main: 3, spare: 1 });
    const { code, details, message } = await refusal(ask(open({ alone: true }).models, { stream }));
    expect({ code, details }).toEqual({ code: 'provider_error', details: { reason: 'server_error' } });
    expect(message).toMatch(/No credits were charged/);
    expect(await metric(both.metrics, 'model_call_failures_total', { kind: 'server_error' })).toBe(3);
  });

  test.each([400, 401, 403, 404, 413, 422])('a %d is not tried again but elsewhere, at once', async (status) => {
    replies({ kind: 'failure', status });
    const { models, pauses } = open();
    expect(await ask(models, { stream })).toMatchObject({ content: 'From the spare one.' });
    expect(calls()).toEqual({ main: 1, spare: 1 });
    expect(pauses).toEqual([]);
  });

  test('a redirect is not followed', async () => {
    replies({ kind: 'raw', status: 307, headers: { location: `${spare.url}/chat/completions` }, body: '' });
    expect(await refusal(ask(open({ alone: true }).models, { stream }))).toMatchObject({ details: { reason: 'denied' } });
    expect(calls()).toEqual({ main: 1, spare: 0 });
  });

  test('an endpoint that says nothing has its time, three times', async () => {
    replies({ kind: 'silence' });
    const { models } = open({ endpoint: { timeoutMs: 150 } });
    const began = performance.now();
    expect(await ask(models, { stream })).toMatchObject({ content: 'From the spare one.' });
    expect(performance.now() - began).toBeGreaterThan(440);
    expect(calls()).toEqual({ main: 3, spare: 1 });
  });

  test('the caller’s word ends it at once, with its reason, and closes the connection', async () => {
    replies({ kind: 'silence' });
    const abandoned = main.abandoned;
    const { models, metrics } = open();
    const abort = new AbortController();
    const reason = new Error('not wanted any more');
    const answer = ask(models, { stream }, abort.signal);
    const seen = expect(answer).rejects.toBe(reason);
    await until(() => calls().main === 1);
    abort.abort(reason);
    await seen;
    await until(() => main.abandoned > abandoned);
    await expect(ask(models, { stream }, abort.signal)).rejects.toBe(reason);
    expect(calls()).toEqual({ main: 1, spare: 0 });
    expect(await metric(metrics, 'model_call_failures_total', {})).toBe(0);
  });

  test('the caller’s word ends a pause', async () => {
    replies(failing);
    const abort = new AbortController();
    const reason = new Error('not wanted any more');
    const pause = (_ms: number, signal: AbortSignal) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
        abort.abort(reason);
      });
    await expect(ask(open({ conditions: { pause } }).models, { stream }, abort.signal)).rejects.toBe(reason);
    expect(calls()).toEqual({ main: 1, spare: 0 });
  });

  test('an endpoint that cannot be reached or found is left for the next', async () => {
    for (const baseUrl of [`http://127.0.0.1:${await freePort()}/v1`, 'http://nowhere.invalid/v1']) {
      expect(await ask(open({ endpoint: { baseUrl } }).models, { stream })).toMatchObject({ content: 'From the spare one.' });
      const failure = await refusal(ask(open({ endpoint: { baseUrl }, alone: true }).models, { stream }));
      expect(failure.details).toEqual({ reason: 'connection' });
      expect(failure.message).not.toMatch(/127|nowhere/);
    }
  });

  test.each([
    ['text', `data: {"choices":[{"index":0,"delta":{"content":"${'x'.repeat(10_000)}"},"finish_reason":null}]}\n\n`],
    ['signs of life', `: ${'x'.repeat(10_000)}\n\n`],
  ])('%s without end is not read for ever: the connection is closed', async (_, piece) => {
    let closed = 0;
    const endless = createHttpServer((_, response) => {
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      Readable.from(repeat(piece)).pipe(response);
      response.on('close', () => (closed += 1));
    }).listen(0, '127.0.0.1');
    await once(endless, 'listening');
    const { models } = open({ endpoint: { baseUrl: `http://127.0.0.1:${portOf(endless)}/v1` }, alone: true });
    expect(await refusal(ask(models, { stream }))).toMatchObject({ details: { reason: 'too_large' } });
    await until(() => closed === 1);
    endless.close();
  });

  test('what the provider filtered is no answer, and nobody else is asked for it', async () => {
    replies({ kind: 'text', text: 'Half an', finish: 'content_filter' });
    const failure = await refusal(ask(open().models, { stream }));
    expect(failure).toMatchObject({ code: 'provider_error', details: { reason: 'filtered' } });
    expect(calls()).toEqual({ main: 1, spare: 0 });
  });

  test('a length used up without a word of an answer is not tried again there', async () => {
    replies({ kind: 'text', text: '', finish: 'length' });
    expect(await ask(open().models, { stream })).toMatchObject({ content: 'From the spare one.' });
    expect(calls()).toEqual({ main: 1, spare: 1 });
  });
});

describe('a stream', () => {
  test.each(['cut', 'end', 'silence'] as const)('that is broken off by %s is begun again and what was read is void', async (by) => {
    replies({ kind: 'unfinished', text: 'The month went', by }, good);
    const { models } = open({ endpoint: { timeoutMs: 400 } });
    const answer = await ask(models, { stream: true });
    expect(answer).toMatchObject({ content: good.text, read: good.text, restarts: 1 });
    expect(calls()).toEqual({ main: 2, spare: 0 });
  });

  test.each(['cut', 'end'] as const)('of Anthropic that is broken off by %s is begun again as well', async (by) => {
    replies({ kind: 'unfinished', text: 'The month went', by }, good);
    const { models } = open({ endpoint: { provider: 'anthropic' } });
    expect(await ask(models, { stream: true })).toMatchObject({ content: good.text, read: good.text, restarts: 1 });
  });

  test.each([
    ['{"message":"Overloaded","type":"server_error","code":null}', 3],
    ['{"message":"Slow down","type":"rate_limit_error"}', 3],
    ['{"message":"Slow down","code":429}', 3],
    ['{"message":"No","type":"invalid_request_error"}', 1],
  ])('that ends with the error %s is judged by it', async (error, tries) => {
    replies({ kind: 'raw', headers: eventStream, body: `data: {"error":${error}}\n\n` });
    expect(await ask(open().models, { stream: true })).toMatchObject({ content: 'From the spare one.' });
    expect(calls()).toEqual({ main: tries, spare: 1 });
  });

  test('may take longer than a piece of it, but not for ever', async () => {
    const trickle = (count: number): ModelReply => ({ kind: 'text', text: 'so '.repeat(count), pieceDelayMs: 60 });
    const { models } = open({ endpoint: { timeoutMs: 360 }, alone: true });
    replies(trickle(10));
    expect(await ask(models, { stream: true })).toMatchObject({ restarts: 0 });
    replies(trickle(60), good);
    expect(await ask(models, { stream: true })).toMatchObject({ content: good.text, restarts: 1 });
  });
});

describe('Retry-After', () => {
  test.each<[Record<string, string>, number]>([
    [{ 'retry-after': '3' }, 3_000],
    [{ 'retry-after': '0' }, 500],
    [{ 'retry-after-ms': '700' }, 700],
    [{ 'retry-after': 'soon' }, 500],
    [{ 'retry-after': '10' }, 10_000],
  ])('%j is waited for', async (headers, pauseMs) => {
    replies({ kind: 'failure', status: 429, headers }, good);
    const { models, pauses } = open();
    expect(await ask(models)).toMatchObject({ content: good.text });
    expect(pauses).toEqual([pauseMs]);
  });

  test('beyond ten seconds the next endpoint is asked instead', async () => {
    replies({ kind: 'failure', status: 429, headers: { 'retry-after': '11' } });
    const { models, pauses } = open();
    expect(await ask(models)).toMatchObject({ content: 'From the spare one.' });
    expect(pauses).toEqual([]);
  });
});

describe('the breaker', () => {
  const fail = (models: Models) => ask(models).catch(() => undefined);

  test('opens after twenty failures in a row, then asks elsewhere at once, and tries again after five seconds', async () => {
    replies(failing);
    const { models, pass, metrics } = open();
    for (let answers = 0; answers < 7; answers += 1) await ask(models);
    expect(calls()).toEqual({ main: 20, spare: 7 });
    expect(await metric(metrics, 'model_breaker_open', {})).toBe(1);
    pass(4_999);
    await Promise.all(Array.from({ length: 10 }, () => ask(models)));
    expect(calls()).toEqual({ main: 20, spare: 17 });
    pass(1);
    replies({ ...good, delayMs: 50 } as ModelReply);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(models)));
    expect(answers.filter(({ content }) => content === good.text)).toHaveLength(1);
    expect(await metric(metrics, 'model_breaker_open', {})).toBe(0);
    expect(await ask(models)).toMatchObject({ content: good.text });
  });

  test('without another endpoint waits for the trial once and then says so; a failed trial leaves it open', async () => {
    replies(failing);
    const { models, pass, pauses } = open({ alone: true });
    for (let answers = 0; answers < 7; answers += 1) await fail(models);
    const begun = calls().main;
    pauses.length = 0;
    const failure = await refusal(ask(models));
    expect(pauses).toEqual([5_000]);
    expect(failure).toMatchObject({ code: 'provider_error', details: { reason: 'left_alone' } });
    expect(calls().main).toBe(begun);
    pass(5_000);
    await fail(models);
    const tried = calls().main;
    expect(tried - begun).toBeGreaterThanOrEqual(1);
    await fail(models);
    expect(calls().main).toBe(tried);
  });

  test('is waited for by all answers that come while it is open: one tries, and the others follow where that goes well', async () => {
    replies(failing);
    let left: (ms: number) => void = () => undefined;
    const pauses: number[] = [];
    const over = Promise.withResolvers<void>();
    const pause = async (ms: number, signal: AbortSignal) => {
      if (opening) return;
      pauses.push(ms);
      // The time until the trial passes for all together; the limit of waiting for its outcome never does.
      if (pauses.length === 10) left(5_000);
      await (pauses.length <= 10 ? over.promise : abortable(new Promise<void>(() => undefined), signal));
    };
    let opening = true;
    const { models, pass } = open({ alone: true, conditions: { pause } });
    for (let answers = 0; answers < 7; answers += 1) await fail(models);
    opening = false;
    left = (ms) => {
      pass(ms);
      over.resolve();
    };
    const before = calls().main;
    let running = 0;
    let most = 0;
    main.follow(async () => {
      running += 1;
      most = Math.max(most, running);
      if (calls().main === before + 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        expect(running).toBe(1);
      }
      running -= 1;
      return good;
    });
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask(models)));
    expect(answers.map(({ content }) => content)).toEqual(answers.map(() => good.text));
    expect(calls().main - before).toBe(10);
    expect(pauses.slice(0, 10)).toEqual(Array(10).fill(5_000));
  });

  test('is not waited for by an answer that nobody wants any more', async () => {
    replies(failing);
    const abort = new AbortController();
    const reason = new Error('not wanted any more');
    let opening = true;
    const pause = async (_ms: number, signal: AbortSignal) => {
      if (opening) return;
      abort.abort(reason);
      await abortable(new Promise<void>(() => undefined), signal);
    };
    const { models } = open({ alone: true, conditions: { pause } });
    for (let answers = 0; answers < 7; answers += 1) await fail(models);
    opening = false;
    await expect(ask(models, {}, abort.signal)).rejects.toBe(reason);
  });

  test('takes no try from answers that had begun: a moment’s failure of fifty at once fails none of them', async () => {
    const seen = new Set<string>();
    main.follow(({ messages }) => {
      const question = JSON.stringify(messages.at(-1));
      const isFirst = !seen.has(question);
      seen.add(question);
      return isFirst ? failing : good;
    });
    const all = Promise.withResolvers<void>();
    let failed = 0;
    const pause = () => {
      failed += 1;
      if (failed === 50) all.resolve();
      return all.promise;
    };
    const { models, metrics } = open({ alone: true, conditions: { pause } });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, number) => ask(models, { message: `Question ${number}` })));
    expect(calls().main).toBe(100);
    expect(await metric(metrics, 'model_breaker_open', {})).toBe(0);
    expect(answers.every(({ content }) => content === good.text)).toBe(true);
  });

  test('is not opened by what callers did: requests that are refused, and ends of theirs', async () => {
    const { models } = open({ alone: true });
    replies({ kind: 'failure', status: 400 });
    for (let answers = 0; answers < 25; answers += 1) await fail(models);
    replies({ kind: 'silence' });
    const before = calls().main;
    const abort = new AbortController();
    const waiting = Array.from({ length: 25 }, () => ask(models, {}, abort.signal).catch(() => undefined));
    await until(() => calls().main === before + 25);
    abort.abort();
    await Promise.all(waiting);
    replies(good);
    expect(await ask(models)).toMatchObject({ content: good.text });
  });
});

test('neither callers nor the log see keys, prompts or the provider’s text', async () => {
  const secrets = ['sk-very-secret', 'private question', 'private instruction', 'upstream detail'];
  const message = 'Key sk-very-secret is wrong; upstream detail; asked: private question';
  const env = { MY_KEY: 'sk-very-secret' };
  for (const status of [400, 401, 429, 500]) {
    replies({ kind: 'failure', status, message });
    const { models, logged } = open({ endpoint: { apiKeyEnv: 'MY_KEY' }, env, alone: true });
    const failure = await refusal(ask(models, { message: 'private question', instructions: 'private instruction' }));
    const told = JSON.stringify([failure, failure.message, causesOf(failure), logged]);
    for (const secret of secrets) expect(told).not.toContain(secret);
    expect(logged.join()).toContain(`"status":${status}`);
  }
});

test('a connection that ends in the middle of a whole answer is tried again', async () => {
  const server = createServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{"choices":['));
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { models, metrics } = open({ endpoint: { baseUrl: `http://127.0.0.1:${portOf(server)}/v1` } });
  expect(await ask(models)).toMatchObject({ content: 'From the spare one.' });
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

async function until(holds: () => boolean): Promise<void> {
  const end = Date.now() + 10_000;
  while (!holds()) {
    if (Date.now() > end) throw new Error('did not happen within 10 s');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
