// Streams and errors as the public documentation of OpenAI (chat completions) and Anthropic (messages) prints them, so that both
// interfaces are also tested against texts that this repository did not invent.
import { type ChatRequest, type ModelReply, type ScriptedModel, scriptedModel } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Models, Tool } from '../src/models.ts';
import type { Endpoint } from '../src/models-file.ts';
import { refusal } from './endpoints.ts';
import { ask, testModels } from './harness.ts';

let model: ScriptedModel;
beforeAll(async () => {
  model = await scriptedModel(() => ({ kind: 'text', text: '' }));
});
afterAll(() => model?.stop());

const opened: Models[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((models) => models.close()));
});

/** Asks with a weather tool; the provider sends these bodies one after the other. */
async function converse(provider: Endpoint['provider'], ...script: ModelReply[]) {
  const requests: ChatRequest[] = [];
  const inputs: unknown[] = [];
  model.follow((request) => {
    requests.push(request);
    return script[requests.length - 1] ?? script.at(-1) ?? { kind: 'silence' };
  });
  const { models } = testModels({ endpoints: [{ baseUrl: model.url, provider }] });
  opened.push(models);
  const run = async (input: unknown) => {
    inputs.push(input);
    return '14 degrees';
  };
  const weather: Tool = { name: 'get_weather', description: 'The weather.', parameters: { type: 'object' }, run };
  return { answer: ask(models, { stream: true, tools: [weather] }), requests, inputs };
}

const streamed = (body: string): ModelReply => ({ kind: 'raw', headers: { 'content-type': 'text/event-stream; charset=utf-8' }, body });
const failed = (status: number, body: object): ModelReply => ({ kind: 'raw', status, body: JSON.stringify(body) });

describe('OpenAI', () => {
  const head = '"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"gpt-4o-mini-2024-07-18"';
  const fingerprint = '"service_tier":"default","system_fingerprint":"fp_44709d6fcb"';
  const chunks = (...choices: string[]) =>
    streamed(
      [
        ...choices.map((choice) => `{${head},${fingerprint},"choices":[{"index":0,${choice}}],"usage":null,"obfuscation":"aB3x"}`),
        `{${head},${fingerprint},"choices":[],"usage":{"prompt_tokens":82,"completion_tokens":17,"total_tokens":99,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}`,
        '[DONE]',
      ]
        .map((data) => `data: ${data}\n\n`)
        .join(''),
    );
  const begin = '"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null';
  const piece = (text: string) => `"delta":{"content":${JSON.stringify(text)}},"logprobs":null,"finish_reason":null`;
  const end = (reason: string) => `"delta":{},"logprobs":null,"finish_reason":"${reason}"`;
  const call = (fields: string) => `"delta":{"tool_calls":[{"index":0,${fields}}]},"logprobs":null,"finish_reason":null`;
  const toolCall = chunks(
    '"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_DdmO9pD3xa9XTPNJ32zg2hcA","type":"function","function":{"name":"get_weather","arguments":""}}],"refusal":null},"logprobs":null,"finish_reason":null',
    ...['{\\"', 'location', '\\":\\"', 'Paris', ',', ' France', '\\"}'].map((text) => call(`"function":{"arguments":"${text}"}`)),
    end('tool_calls'),
  );

  test('a text, with its tokens and the name of the model', async () => {
    const { answer } = await converse('openai-compatible', chunks(begin, piece('Hello'), piece('!'), end('stop')));
    expect(await answer).toMatchObject({ content: 'Hello!', inputTokens: 82, outputTokens: 17, model: 'gpt-4o-mini-2024-07-18' });
  });

  test('a call of a tool, whose result goes back under the id of the call', async () => {
    const { answer, requests, inputs } = await converse('openai-compatible', toolCall, chunks(begin, piece('14 degrees.'), end('stop')));
    expect(await answer).toMatchObject({ content: '14 degrees.', inputTokens: 164, outputTokens: 34 });
    expect(inputs).toEqual([{ location: 'Paris, France' }]);
    expect(requests[1]?.messages.at(-1)).toEqual({ role: 'tool', tool_call_id: 'call_DdmO9pD3xa9XTPNJ32zg2hcA', content: '14 degrees' });
  });

  test('a refusal is the text of the answer, and a text that reached its length is taken as it is', async () => {
    const no = `"delta":{"refusal":"I'm sorry, I cannot assist with that request."},"logprobs":null,"finish_reason":null`;
    const refused = await converse('openai-compatible', chunks(begin, no, end('stop')));
    expect(await refused.answer).toMatchObject({ content: "I'm sorry, I cannot assist with that request." });
    const long = await converse('openai-compatible', chunks(begin, piece('Once'), piece(' upon'), end('length')));
    expect(await long.answer).toMatchObject({ content: 'Once upon' });
  });

  const error = (type: string | null, code: string) => ({ error: { message: 'The engine says no.', type, param: 'messages', code } });
  const reported = (type: string, code: string) => streamed(`data: ${JSON.stringify(error(type, code))}\n\n`);

  test.each<[string, ModelReply, string, number]>([
    ['a filtered text', chunks(begin, piece('Wh'), end('content_filter')), 'filtered', 1],
    ['a length used up by reasoning', chunks(begin, end('length')), 'exhausted', 1],
    [
      'a wrong key',
      failed(401, {
        error: { message: 'Incorrect API key provided: sk-none.', type: 'invalid_request_error', param: null, code: 'invalid_api_key' },
      }),
      'denied',
      1,
    ],
    [
      'a prompt that is too long',
      failed(400, {
        error: {
          message: "This model's maximum context length is 128000 tokens.",
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      }),
      'refused',
      1,
    ],
    [
      'a rate limit',
      failed(429, {
        error: { message: 'Rate limit reached for gpt-4o-mini.', type: 'requests', param: null, code: 'rate_limit_exceeded' },
      }),
      'rate_limited',
      3,
    ],
    [
      'an overloaded server',
      failed(503, { error: { message: 'The engine is currently overloaded.', type: 'server_error', param: null, code: null } }),
      'server_error',
      3,
    ],
    [
      'an error in the stream',
      streamed(
        `data: {${head},"choices":[{"index":0,${begin}}]}\n\ndata: {"error":{"message":"The server had an error.","type":"server_error","param":null,"code":null}}\n\n`,
      ),
      'server_error',
      3,
    ],
    ['an interruption at DeepSeek', chunks(begin, piece('Once'), end('insufficient_system_resource')), 'cut', 3],
    ['an error as the reason at OpenRouter', chunks(begin, piece('Once'), end('error')), 'cut', 3],
    ['an abort at vLLM', chunks(begin, piece('Once'), end('abort')), 'cut', 3],
    [
      'an error in a choice of OpenRouter',
      chunks(begin, piece('Once'), '"delta":{"content":""},"error":{"code":429,"message":"engine busy"},"finish_reason":"error"'),
      'rate_limited',
      3,
    ],
    [
      'an error in the choice of a whole answer',
      failed(200, {
        choices: [{ message: { content: 'Once' }, finish_reason: 'stop', error: { code: 502, message: 'The engine failed.' } }],
      }),
      'server_error',
      3,
    ],
    ['a prompt that is too long, in the stream', reported('invalid_request_error', 'context_length_exceeded'), 'refused', 1],
    ['a request with another fault, in the stream', reported('invalid_request_error', 'unsupported_value'), 'refused', 1],
    ["a prompt that Azure's filter refuses", failed(400, error(null, 'content_filter')), 'filtered', 1],
    ['a prompt that a filter refuses, in the stream', reported('invalid_request_error', 'content_policy_violation'), 'filtered', 1],
    ['a call that Groq cannot read', failed(400, error('invalid_request_error', 'tool_use_failed')), 'invalid_output', 3],
    ['a call that Groq cannot read, in the stream', reported('invalid_request_error', 'tool_use_failed'), 'invalid_output', 3],
    ['JSON that Groq finds invalid', failed(400, error('invalid_request_error', 'json_validate_failed')), 'invalid_output', 3],
    ['an error whose code is the name of a property', reported('requests', 'constructor'), 'server_error', 3],
  ])('%s fails without a text of the provider', async (_, reply, reason, calls) => {
    const { answer, requests } = await converse('openai-compatible', reply);
    const failure = await refusal(answer);
    expect([failure, requests.length]).toMatchObject([{ code: 'provider_error', details: { reason } }, calls]);
    expect(failure.message).not.toMatch(/sk-none|context length|gpt-4o|engine/);
  });
});

describe('Anthropic', () => {
  const events = (...list: [string, string][]) => streamed(list.map(([event, data]) => `event: ${event}\ndata: ${data}\n\n`).join(''));
  const start: [string, string] = [
    'message_start',
    '{"type":"message_start","message":{"id":"msg_014p7gG3wDgGV9EUtLvnow3U","type":"message","role":"assistant","model":"claude-opus-4-20250514","stop_sequence":null,"usage":{"input_tokens":472,"output_tokens":2},"content":[],"stop_reason":null}}',
  ];
  const ping: [string, string] = ['ping', '{"type": "ping"}'];
  const block = (index: number, content: string): [string, string] => [
    'content_block_start',
    `{"type":"content_block_start","index":${index},"content_block":${content}}`,
  ];
  const delta = (index: number, fields: string): [string, string] => [
    'content_block_delta',
    `{"type":"content_block_delta","index":${index},"delta":{${fields}}}`,
  ];
  const blockStop = (index: number): [string, string] => ['content_block_stop', `{"type":"content_block_stop","index":${index}}`];
  const text = (index: number, words: string): [string, string][] => [
    block(index, '{"type":"text","text":""}'),
    delta(index, `"type":"text_delta","text":${JSON.stringify(words)}`),
    blockStop(index),
  ];
  const stop = (reason: string): [string, string][] => [
    ['message_delta', `{"type":"message_delta","delta":{"stop_reason":"${reason}","stop_sequence":null},"usage":{"output_tokens":89}}`],
    ['message_stop', '{"type":"message_stop"}'],
  ];
  const toolUse = events(
    start,
    block(0, '{"type":"text","text":""}'),
    ping,
    ...['Okay', ',', " let's check", ' the weather:'].map((words) => delta(0, `"type":"text_delta","text":"${words}"`)),
    blockStop(0),
    block(1, '{"type":"tool_use","id":"toolu_01T1x1fJ34qAmk2tNTrN7Up6","name":"get_weather","input":{}}'),
    ...['', '{\\"location\\":', ' \\"San', ' Francisc', 'o,', ' CA\\"}'].map((json) =>
      delta(1, `"type":"input_json_delta","partial_json":"${json}"`),
    ),
    blockStop(1),
    ...stop('tool_use'),
  );

  test('a text after thoughts, with its tokens and the name of the model', async () => {
    const thoughts: [string, string][] = [
      block(0, '{"type":"thinking","thinking":"","signature":""}'),
      delta(0, '"type":"thinking_delta","thinking":"I need to find the GCD"'),
      delta(0, '"type":"signature_delta","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3h"'),
      blockStop(0),
    ];
    const { answer } = await converse('anthropic', events(start, ...thoughts, ...text(1, 'The GCD is 21.'), ...stop('end_turn')));
    expect(await answer).toMatchObject({
      content: 'The GCD is 21.',
      inputTokens: 472,
      outputTokens: 89,
      model: 'claude-opus-4-20250514',
    });
  });

  test('a call of a tool after a text, whose result goes back under the id of the call', async () => {
    const { answer, requests, inputs } = await converse(
      'anthropic',
      toolUse,
      events(start, ...text(0, '14 degrees.'), ...stop('end_turn')),
    );
    expect(await answer).toMatchObject({ content: "Okay, let's check the weather:\n\n14 degrees." });
    expect(inputs).toEqual([{ location: 'San Francisco, CA' }]);
    expect(requests[1]?.messages.at(-1)).toEqual({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'toolu_01T1x1fJ34qAmk2tNTrN7Up6', content: '14 degrees' }],
    });
  });

  test('a text that reached its length is taken as it is', async () => {
    const { answer } = await converse('anthropic', events(start, ...text(0, 'Once upon'), ...stop('max_tokens')));
    expect(await answer).toMatchObject({ content: 'Once upon' });
  });

  const error = (type: string, message: string) => ({
    type: 'error',
    error: { type, message },
    request_id: 'req_011CSHoEeqs5C35K2UUqR7Fy',
  });
  test.each<[string, ModelReply, string, number]>([
    ['a refusal of its classifiers', events(start, ...text(0, 'I'), ...stop('refusal')), 'filtered', 1],
    ['a length used up by thoughts', events(start, ...stop('max_tokens')), 'exhausted', 1],
    ['a wrong key', failed(401, error('authentication_error', 'invalid x-api-key')), 'denied', 1],
    ['a request that is not valid', failed(400, error('invalid_request_error', 'prompt is too long: 201000 tokens')), 'refused', 1],
    ['a rate limit', failed(429, error('rate_limit_error', "This request would exceed your organization's rate limit")), 'rate_limited', 3],
    ['an overloaded server', failed(529, error('overloaded_error', 'Overloaded')), 'server_error', 3],
    [
      'an overloaded server in the stream',
      events(start, ['error', '{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}']),
      'server_error',
      3,
    ],
    ['a stream that ends early', events(start, ...text(0, 'Once')), 'cut', 3],
  ])('%s fails without a text of the provider', async (_, reply, reason, calls) => {
    const { answer, requests } = await converse('anthropic', reply);
    const failure = await refusal(answer);
    expect([failure, requests.length]).toMatchObject([{ code: 'provider_error', details: { reason } }, calls]);
    expect(failure.message).not.toMatch(/x-api-key|prompt is|organization|Overloaded/);
  });
});
