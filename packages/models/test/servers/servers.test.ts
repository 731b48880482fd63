// Servers that other projects wrote. They are installed from PyPI, so these tests are a long form: npm run test:long -- models
import { type ModelReply, type ScriptedModel, scriptedModel } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { ModelRequest, Models, Tool } from '../../src/models.ts';
import type { Endpoint } from '../../src/models-file.ts';
import { refusal } from '../endpoints.ts';
import { ask, testModels } from '../harness.ts';
import { litellmKey, type ModelServer, startLitellm, startLlama } from './start.ts';

const long = process.env['MODEL_SERVERS'] === 'long' ? describe : describe.skip;
const installMs = 400_000;

const opened: Models[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((models) => models.close()));
});

function open(endpoint: Partial<Endpoint>, maxOutputTokens = 4_096): Models {
  const env = { LITELLM_KEY: litellmKey };
  const { models } = testModels({ endpoints: [{ timeoutMs: 30_000, ...endpoint }], tier: { maxOutputTokens }, env });
  opened.push(models);
  return models;
}

function weatherTool() {
  const inputs: unknown[] = [];
  const run = async (input: unknown) => {
    inputs.push(input);
    return '14 degrees';
  };
  const parameters = { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] };
  const tool: Tool = { name: 'get_weather', description: 'The weather.', parameters, run };
  return { tool, inputs };
}

long('the LiteLLM proxy', () => {
  let upstream: ScriptedModel;
  let proxy: ModelServer;
  beforeAll(async () => {
    upstream = await scriptedModel(() => ({ kind: 'text', text: '' }));
    proxy = await startLitellm(upstream.url);
  }, installMs);
  afterAll(async () => {
    await proxy?.stop();
    await upstream?.stop();
  });

  const proxied = () => ({ baseUrl: proxy.url, apiKeyEnv: 'LITELLM_KEY' });
  // Each of our interfaces to the proxy, over each of the proxy's own to a provider.
  const ways = (['openai-compatible', 'anthropic'] as const).flatMap((provider) =>
    ['openai', 'anthropic'].flatMap((model) => [false, true].map((stream) => ({ provider, model, stream }))),
  );
  const usage = { prompt_tokens: 40, completion_tokens: 20 };

  describe.each(ways)('by $provider over $model, streamed $stream', ({ provider, model, stream }) => {
    const request = (fields: Partial<ModelRequest> = {}) => ask(open({ ...proxied(), provider, model }), { stream, ...fields });

    test('answers with text and tokens', async () => {
      upstream.follow(() => ({ kind: 'text', text: 'The month went well. 📈', usage }));
      const answer = await request();
      expect(answer).toMatchObject({ content: 'The month went well. 📈', inputTokens: 40, outputTokens: 20 });
      expect(answer.model).not.toBe('');
      if (stream) expect(answer.read).toBe(answer.content);
    });

    test('calls tools and gets their results', async () => {
      upstream.follow(({ messages }) =>
        JSON.stringify(messages).includes('14 degrees')
          ? { kind: 'text', text: 'It has 14 degrees.' }
          : {
              kind: 'tools',
              calls: [
                { name: 'get_weather', arguments: { place: 'Paris' } },
                { name: 'get_weather', arguments: { place: 'Rome' } },
              ],
              // Towards Anthropic's interface the proxy writes pieces of alternating calls into the wrong one.
              sequential: true,
            },
      );
      const { tool, inputs } = weatherTool();
      expect((await request({ tools: [tool] })).content).toBe('It has 14 degrees.');
      expect(inputs).toEqual([{ place: 'Paris' }, { place: 'Rome' }]);
    });

    test('ends at its length', async () => {
      upstream.follow(() => ({ kind: 'text', text: 'Once upon', finish: model === 'anthropic' ? 'max_tokens' : 'length' }));
      expect((await request()).content).toBe('Once upon');
    });

    test.each<[string, ModelReply, RegExp]>([
      ['denied', { kind: 'failure', status: 401, message: 'a secret sentence' }, /^denied$/],
      ['rate limited', { kind: 'failure', status: 429, message: 'a secret sentence' }, /^rate_limited$/],
      ['failing', { kind: 'failure', status: 500, message: 'a secret sentence' }, /^server_error$/],
      ['refused', { kind: 'failure', status: 400, message: 'a secret sentence' }, /^refused$/],
    ])('that is %s fails without a text of the provider', async (_, reply, reason) => {
      upstream.follow(() => reply);
      const failure = await refusal(request());
      expect(failure).toMatchObject({ code: 'provider_error', details: { reason: expect.stringMatching(reason) } });
      expect(failure.message).not.toContain('secret');
    });
  });

  test('passes the JSON mode on', async () => {
    upstream.follow(() => ({ kind: 'text', text: '{"sold": 12}' }));
    const answer = await ask(open({ ...proxied(), model: 'openai' }), { output: { format: 'json', charts: false } });
    expect(answer.content).toBe('```json\n{"sold": 12}\n```');
    expect(upstream.calls.at(-1)).toMatchObject({ response_format: { type: 'json_object' } });
  });
});

long('the server of llama.cpp', () => {
  let server: ModelServer;
  beforeAll(async () => {
    server = await startLlama();
  }, installMs);
  afterAll(() => server?.stop());

  const words = /^\s*(all|went|well|orders|and|sales|grew|in|May|June)\b/;

  test.each([false, true])('answers until its length, with the tokens that it counts, streamed %s', async (stream) => {
    const answer = await ask(open({ baseUrl: server.url, model: 'tiny' }, 24), { stream });
    expect(answer.content).toMatch(words);
    expect(answer).toMatchObject({ outputTokens: 24, model: 'tiny.gguf' });
    expect(answer.inputTokens).toBeGreaterThan(10);
    if (stream) expect(answer.read).toBe(answer.content);
  });

  test('takes tools, and the conversation before', async () => {
    const { tool } = weatherTool();
    const history = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Good morning' },
    ] as const;
    expect((await ask(open({ baseUrl: server.url, model: 'tiny' }, 24), { tools: [tool], history })).content).toMatch(words);
  });

  test('is asked without the JSON mode where it refuses that', async () => {
    const answer = await ask(open({ baseUrl: server.url, model: 'tiny' }, 24), { output: { format: 'json', charts: false } });
    expect(answer.content).toMatch(words);
  });

  test('refuses a prompt that is longer than its context', async () => {
    const message = 'orders '.repeat(10_000);
    const failure = await refusal(ask(open({ baseUrl: server.url, model: 'tiny' }, 24), { message }));
    expect(failure).toMatchObject({ code: 'provider_error', details: { reason: 'refused' } });
  });
});
