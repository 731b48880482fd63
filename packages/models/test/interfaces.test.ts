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

/** Asks with one tool that records its inputs; the model gives these replies one after the other. */
async function converse(provider: Endpoint['provider'], stream: boolean, ...script: ModelReply[]) {
  const requests: ChatRequest[] = [];
  const inputs: unknown[] = [];
  model.follow((request) => {
    requests.push(request);
    return script[requests.length - 1] ?? { kind: 'text', text: 'Done.' };
  });
  const { models } = testModels({ endpoints: [{ baseUrl: model.url, provider }] });
  opened.push(models);
  const parameters = { type: 'object', properties: { sql: { type: 'string' } } };
  const run = async (input: unknown) => {
    inputs.push(input);
    return `row ${inputs.length}`;
  };
  const query: Tool = { name: 'query', description: 'Queries.', parameters, run };
  return { answer: ask(models, { stream, tools: [query] }), requests, inputs };
}

const events = (...data: object[]): ModelReply => ({
  kind: 'raw',
  headers: { 'content-type': 'text/event-stream' },
  body: `${data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')}data: [DONE]\n\n`,
});
const whole = (body: object): ModelReply => ({ kind: 'raw', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
const delta = (fields: object, finish_reason: string | null = null) => ({ choices: [{ index: 0, delta: fields, finish_reason }] });
const pieces = (...calls: object[]) => events(...calls.map((call) => delta({ tool_calls: [call] })), delta({}, 'tool_calls'));
const called = (name: string | undefined, text: string) => ({ function: { ...(name !== undefined && { name }), arguments: text } });

describe('calls of tools in a stream of chat completions', () => {
  const both = [{ sql: 'a' }, { sql: 'b' }];
  test.each<[string, ModelReply]>([
    [
      'interleaved by index',
      pieces(
        { index: 0, id: 'x', ...called('query', '{"sql":') },
        { index: 1, id: 'y', ...called('query', '{"sql":') },
        { index: 0, ...called(undefined, '"a"}') },
        { index: 1, ...called(undefined, '"b"}') },
      ),
    ],
    ['without an index', pieces({ id: 'x', ...called('query', '{"sql":"a"}') }, { id: 'y', ...called('query', '{"sql":"b"}') })],
    [
      'without an index, in pieces',
      pieces(
        { id: 'x', ...called('query', '{"sql":') },
        called(undefined, '"a"}'),
        { id: 'y', ...called('query', '{"sql":') },
        { id: 'y', ...called(undefined, '"b"}') },
      ),
    ],
    [
      'all with the index 0',
      pieces({ index: 0, id: 'x', ...called('query', '{"sql":"a"}') }, { index: 0, id: 'y', ...called('query', '{"sql":"b"}') }),
    ],
    [
      'with a name that is repeated, or comes later',
      pieces(
        { index: 0, id: 'x', ...called('query', '{"sql":') },
        { index: 0, id: 'x', ...called('query', '"a"}') },
        { index: 1, id: 'y', ...called(undefined, '{"sql":') },
        { index: 1, ...called('query', '"b"}') },
      ),
    ],
    ['without ids', pieces({ index: 0, ...called('query', '{"sql":"a"}') }, { index: 1, id: ' ', ...called('query', '{"sql":"b"}') })],
  ])('%s', async (_, reply) => {
    const { answer, requests, inputs } = await converse('openai-compatible', true, reply);
    expect(await answer).toMatchObject({ content: 'Done.' });
    expect(inputs).toEqual(both);
    const [sent, ...results] = requests[1]?.messages.slice(-3) ?? [];
    const ids = ((sent?.tool_calls ?? []) as { id: string }[]).map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(results).toEqual(ids.map((id, index) => ({ role: 'tool', tool_call_id: id, content: `row ${index + 1}` })));
  });

  test('without a name are a malformed answer', async () => {
    const { answer } = await converse(
      'openai-compatible',
      true,
      ...Array(3).fill(pieces({ index: 0, id: 'x', ...called(undefined, '{}') })),
    );
    expect(await refusal(answer)).toMatchObject({ details: { reason: 'malformed' } });
  });
});

test('calls of a whole answer with equal ids are two calls with different ids, and the signature of a call goes back with it', async () => {
  const call = { id: 'x', ...called('query', '{"sql":"a"}'), extra_content: { google: { thought_signature: 'signed' } } };
  const message = { role: 'assistant', content: null, reasoning_content: 'I think.', tool_calls: [call, { ...call, extra_content: null }] };
  const { answer, requests, inputs } = await converse('openai-compatible', false, whole({ choices: [{ message, finish_reason: 'stop' }] }));
  expect(await answer).toMatchObject({ content: 'Done.' });
  expect(inputs).toHaveLength(2);
  const sent = requests[1]?.messages.at(-3) as unknown as { tool_calls: { id: string }[] };
  expect(sent).toMatchObject({ role: 'assistant', content: null, reasoning_content: 'I think.' });
  expect(sent.tool_calls[0]).toMatchObject({ id: 'x', type: 'function', extra_content: { google: { thought_signature: 'signed' } } });
  expect(sent.tool_calls[1]?.id).not.toBe('x');
  expect(sent.tool_calls[1]).not.toHaveProperty('extra_content');
});

describe('thoughts go back as they came', () => {
  const thinking = (text: string) => ({ type: 'thinking', thinking: [{ type: 'text', text }] });
  const detail = (fields: object) => ({ type: 'reasoning.text', index: 0, ...fields });
  const sealed = (data: string) => ({ type: 'reasoning.encrypted', index: 1, data });
  /** Fields of a message with the text 'So.', in the pieces of a stream, and in a whole answer and the next request. */
  test.each<[string, object[], object]>([
    ['as reasoning_content', [{ reasoning_content: 'I ' }, { reasoning_content: 'think.' }], { reasoning_content: 'I think.' }],
    ['as reasoning', [{ reasoning: 'I ' }, { reasoning: 'think.', reasoning_content: null }], { reasoning: 'I think.' }],
    [
      'as details with a signature',
      [
        { reasoning: 'I ', reasoning_details: [detail({ text: 'I ', signature: null })] },
        { reasoning: 'think.', reasoning_details: [detail({ text: 'think.' })] },
        { reasoning_details: [detail({ signature: 'signed' })] },
        { reasoning_details: [sealed('a')] },
        { reasoning_details: [sealed('b')] },
      ],
      { reasoning: 'I think.', reasoning_details: [detail({ text: 'I think.', signature: 'signed' }), sealed('a'), sealed('b')] },
    ],
    [
      'as details whose pieces alternate',
      [
        { reasoning_details: [detail({ text: 'I ' }), detail({ index: 1, text: 'So ' })] },
        { reasoning_details: [detail({ text: 'think.' }), detail({ index: 1, text: 'I know.' })] },
        { reasoning_details: [sealed('a'), detail({ signature: 'signed' })] },
      ],
      { reasoning_details: [detail({ text: 'I think.', signature: 'signed' }), detail({ index: 1, text: 'So I know.' }), sealed('a')] },
    ],
    [
      'as details without an index',
      [
        { reasoning_details: [{ type: 'reasoning.text', text: 'I ' }, sealed('a')] },
        { reasoning_details: [{ type: 'reasoning.text', text: 'think.' }] },
      ],
      { reasoning_details: [{ type: 'reasoning.text', text: 'I ' }, sealed('a'), { type: 'reasoning.text', text: 'think.' }] },
    ],
    [
      'as parts of the content',
      [{ content: [thinking('I ')] }, { content: [thinking('think.')] }],
      { content: [thinking('I think.'), { type: 'text', text: 'So.' }] },
    ],
    ['not at all', [{ reasoning_content: '', reasoning: null }], {}],
  ])('%s', async (_, pieces, message) => {
    const call = { index: 0, id: 'x', ...called('query', '{"sql":"a"}') };
    const stream = events(...[...pieces, { content: 'So.' }, { tool_calls: [call] }].map((one) => delta(one)), delta({}, 'tool_calls'));
    const answered = whole({ choices: [{ message: { content: 'So.', ...message, tool_calls: [call] }, finish_reason: 'tool_calls' }] });
    for (const reply of [stream, answered]) {
      const { answer, requests } = await converse('openai-compatible', reply === stream, reply);
      expect(await answer).toMatchObject({ content: 'So.\n\nDone.' });
      const { tool_calls: _calls, ...sent } = requests[1]?.messages.at(-2) ?? {};
      expect(sent).toEqual({ role: 'assistant', content: 'So.', ...message });
    }
  });

  test('without a text beside parts of the content', async () => {
    const message = { content: [thinking('I think.')], tool_calls: [{ id: 'x', ...called('query', '{}') }] };
    const { requests, answer } = await converse('openai-compatible', false, whole({ choices: [{ message, finish_reason: 'tool_calls' }] }));
    await answer;
    expect(requests[1]?.messages.at(-2)).toMatchObject({ content: [thinking('I think.')] });
  });

  test.each([false, true])('and so does the extra content of a call, of any provider, streamed %s', async (stream) => {
    const call = { index: 0, id: 'x', ...called('query', '{}'), extra_content: { vertex: { thought_signature: 'signed' } } };
    const reply = stream ? pieces(call) : whole({ choices: [{ message: { tool_calls: [call] }, finish_reason: 'tool_calls' }] });
    const { answer, requests } = await converse('openai-compatible', stream, reply);
    await answer;
    expect(requests[1]?.messages.at(-2)?.tool_calls).toMatchObject([{ id: 'x', extra_content: call.extra_content }]);
  });

  test('and so does extra content that comes in pieces', async () => {
    const call = { index: 0, id: 'x', ...called('query', '{}'), extra_content: { google: { thought_signature: 'signed' } } };
    const next = { index: 0, ...called(undefined, ''), extra_content: { google: { part: 2 }, other: true } };
    const { answer, requests } = await converse('openai-compatible', true, pieces(call, next));
    await answer;
    const extra_content = { google: { thought_signature: 'signed', part: 2 }, other: true };
    expect(requests[1]?.messages.at(-2)?.tool_calls).toMatchObject([{ id: 'x', extra_content }]);
  });

  test('in more parts than any model sends end the call', async () => {
    const reply = events(...Array.from({ length: 10_001 }, () => delta({ reasoning_details: [sealed('a')] })), delta({}, 'stop'));
    const { answer } = await converse('openai-compatible', true, reply);
    expect(await refusal(answer)).toMatchObject({ details: { reason: 'too_large' } });
  });
});

test.each([false, true])('text in parts and refusals are the text, thoughts are not, streamed %s', async (stream) => {
  const content = [
    { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
    { type: 'text', text: 'One. ' },
  ];
  const fields = { content, refusal: 'No more.' };
  const reply = stream ? events(delta(fields), delta({}, 'stop')) : whole({ choices: [{ message: fields, finish_reason: 'stop' }] });
  expect(await (await converse('openai-compatible', stream, reply)).answer).toMatchObject({ content: 'One. No more.' });
});

test.each(['openai-compatible', 'anthropic'] as const)('an error of %s with status 200 is treated as what it reports', async (provider) => {
  const error = { type: 'error', error: { type: 'invalid_request_error', message: 'No' } };
  for (const stream of [false, true]) {
    const { answer, requests } = await converse(provider, stream, stream ? events(error) : whole(error));
    expect(await refusal(answer)).toMatchObject({ details: { reason: 'refused' } });
    expect(requests).toHaveLength(1);
  }
});

test('tokens that Anthropic reads from a cache or writes to one count as input', async () => {
  const usage = { input_tokens: 10, cache_read_input_tokens: 200, cache_creation_input_tokens: 3_000, output_tokens: 7 };
  const answer = { type: 'message', content: [{ type: 'text', text: 'Done.' }], stop_reason: 'end_turn', usage };
  const stream = events(
    { type: 'message_start', message: { usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Done.' } },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
    { type: 'message_stop' },
  );
  for (const reply of [whole(answer), stream]) {
    const { answer: read } = await converse('anthropic', reply === stream, reply);
    expect(await read).toMatchObject({ content: 'Done.', inputTokens: 3_210, outputTokens: 7 });
  }
});
