import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ScriptedModel, scriptedModel } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ask, testModels } from './harness.ts';

let model: ScriptedModel;
/** The URLs that the proxy was sent. */
const requested: string[] = [];

/** Passes every request on to the scripted model. */
const proxy = createServer((incoming, response) => {
  const { method, url = '', headers } = incoming;
  requested.push(url);
  const onward = request(new URL(new URL(url).pathname, model.url), { method, headers: { ...headers, host: 'model' } }, (answer) => {
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
  });
  incoming.pipe(onward);
});

beforeAll(async () => {
  model = await scriptedModel(() => ({ kind: 'text', text: 'It went well.' }));
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
});
afterAll(async () => {
  proxy.close().closeAllConnections();
  await model?.stop();
});
beforeEach(() => void requested.splice(0));

const proxyUrl = () => `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;

async function answerOf(baseUrl: string, env: Record<string, string>): Promise<string> {
  const { models } = testModels({ endpoints: [{ baseUrl }], env });
  try {
    return await ask(models, { stream: true }).then(
      ({ content }) => content,
      ({ code }: { code: string }) => code,
    );
  } finally {
    await models.close();
  }
}

test.each(['http_proxy', 'HTTP_PROXY'])('a model is called through the proxy that the environment names: %s', async (name) => {
  expect(await answerOf('http://models.example/v1', { [name]: proxyUrl() })).toBe('It went well.');
  expect(requested).toEqual(['http://models.example/v1/chat/completions']);
});

test('a model on this machine is called directly', async () => {
  expect(await answerOf(model.url, { HTTP_PROXY: proxyUrl() })).toBe('It went well.');
  expect(requested).toEqual([]);
});

test.each(['models.invalid', '*'])('a model of NO_PROXY=%s is called directly', async (exceptions) => {
  expect(await answerOf('http://models.invalid/v1', { HTTP_PROXY: proxyUrl(), NO_PROXY: exceptions })).toBe('provider_error');
  expect(requested).toEqual([]);
});

const otherAddress = () => model.url.replace('127.0.0.1', '127.0.0.5');

test.each(['127.0.0.0/8', 'models.invalid, 127.0.0.0/8', '127.0.0.5'])(
  'a model at an address in NO_PROXY=%s is called directly',
  async (exceptions) => {
    // The scripted model does not listen there.
    expect(await answerOf(otherAddress(), { HTTP_PROXY: proxyUrl(), NO_PROXY: exceptions })).toBe('provider_error');
    expect(requested).toEqual([]);
  },
);

test('a model at an IPv6 address in a network of NO_PROXY is called directly', async () => {
  expect(await answerOf('http://[::ffff:7f00:5]:9/v1', { HTTP_PROXY: proxyUrl(), NO_PROXY: '::ffff:0:0/96' })).toBe('provider_error');
  expect(requested).toEqual([]);
});

test.each(['10.0.0.0/8', '127.0.0.0/30', '::/0'])(
  'a model at an address outside of NO_PROXY=%s is called through the proxy',
  async (exceptions) => {
    expect(await answerOf(otherAddress(), { HTTP_PROXY: proxyUrl(), NO_PROXY: exceptions })).toBe('It went well.');
    expect(requested).toEqual([`${otherAddress()}/chat/completions`]);
  },
);

test('an empty variable names no proxy', async () => {
  expect(await answerOf(model.url, { HTTP_PROXY: '', HTTPS_PROXY: '', NO_PROXY: '' })).toBe('It went well.');
});
