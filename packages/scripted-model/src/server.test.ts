import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ScriptedModel, scriptedModel } from './server.ts';

let model: ScriptedModel;
beforeAll(async () => {
  model = await scriptedModel(() => ({ kind: 'text', text: 'Hello there' }));
});
afterAll(() => model.stop());

const ask = (more: object = {}, signal?: AbortSignal) =>
  fetch(`${model.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...more }),
    ...(signal && { signal }),
  });

test('answers whole and as a stream with the same words and usage, and records its requests', async () => {
  const whole = (await (await ask()).json()) as { choices: { message: { content: string } }[]; usage: object };
  const events = (await (await ask({ stream: true })).text()).split('\n\n').filter((line) => line && line !== 'data: [DONE]');
  const parsed = events.map(
    (line) => JSON.parse(line.slice('data: '.length)) as { choices: { delta: { content?: string } }[]; usage?: object },
  );
  expect(parsed.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).toBe('Hello there');
  expect(whole.choices[0]?.message.content).toBe('Hello there');
  expect(parsed.at(-1)?.usage).toEqual(whole.usage);
  expect(model.calls.map(({ stream }) => stream ?? false)).toEqual([false, true]);
});

test('follows another script from the next request on: tools, failures, silence', async () => {
  model.follow(() => ({ kind: 'tools', calls: [{ name: 'query', arguments: { sql: 'select 1' } }] }));
  const tools = (await (await ask()).json()) as { choices: { finish_reason: string; message: { tool_calls: { function: object }[] } }[] };
  expect(tools.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { tool_calls: [{ function: { name: 'query', arguments: '{"sql":"select 1"}' } }] },
  });
  model.follow(() => ({ kind: 'failure', status: 429, headers: { 'retry-after': '1' } }));
  const refused = await ask();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  model.follow(() => ({ kind: 'silence' }));
  const abort = new AbortController();
  const requests = model.calls.length;
  const waiting = ask({}, abort.signal);
  while (model.calls.length === requests) await new Promise((resolve) => setImmediate(resolve));
  abort.abort();
  await expect(waiting).rejects.toThrow();
  while (model.abandoned === 0) await new Promise((resolve) => setImmediate(resolve));
});
