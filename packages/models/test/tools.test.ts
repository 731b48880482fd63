import { type ChatRequest, type ModelReply, type ScriptedModel, scriptedModel } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Models, Tool } from '../src/models.ts';
import { estimateTokens } from '../src/prompt.ts';
import { ask, type TestModelsOptions, testModels } from './harness.ts';

let model: ScriptedModel;
beforeAll(async () => {
  model = await scriptedModel(() => ({ kind: 'text', text: '' }));
});
afterAll(() => model?.stop());

const opened: Models[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((models) => models.close()));
});

function open(options: Omit<TestModelsOptions, 'endpoints'> & { endpoint?: object } = {}) {
  const test = testModels({ ...options, endpoints: [{ baseUrl: model.url, ...options.endpoint }] });
  opened.push(test.models);
  return test;
}

/** A tool that records its inputs and runs the given function. */
function tool(
  name: string,
  run: (input: Record<string, unknown>, signal: AbortSignal) => string | Promise<string>,
): Tool & { inputs: unknown[] } {
  const inputs: unknown[] = [];
  return {
    name,
    description: `Does ${name}.`,
    parameters: { type: 'object', properties: { sql: { type: 'string' } } },
    inputs,
    async run(input, signal) {
      inputs.push(input);
      return await run(input as Record<string, unknown>, signal);
    },
  };
}

/** Scripts one reply for each call of the model; returns the requests. */
function outputs(...script: ModelReply[]): ChatRequest[] {
  const requests: ChatRequest[] = [];
  model.follow((request) => {
    requests.push(request);
    return script[requests.length - 1] ?? { kind: 'text', text: 'too many calls' };
  });
  return requests;
}

const usage = (prompt_tokens: number, completion_tokens: number) => ({ prompt_tokens, completion_tokens });
const query = (sql: string) => ({ name: 'query', arguments: { sql } });
const ways = (['openai-compatible', 'anthropic'] as const).flatMap((provider) => [false, true].map((stream) => ({ provider, stream })));

describe.each(ways)('tools of $provider, streamed $stream', ({ provider, stream }) => {
  const openThis = (options: Omit<TestModelsOptions, 'endpoints'> = {}) => open({ ...options, endpoint: { provider } }).models;

  test('are run side by side, their results go back to the model, and the tokens of all calls of the model count', async () => {
    const requests = outputs(
      { kind: 'tools', text: 'Let me look.', calls: [query('select 1'), query('select 2')], usage: usage(100, 10) },
      { kind: 'tools', calls: [query('select 3')], usage: usage(200, 20) },
      { kind: 'text', text: 'There are 12.', usage: usage(300, 30) },
    );
    let atOnce = 0;
    let most = 0;
    const database = tool('query', async ({ sql }) => {
      most = Math.max(most, (atOnce += 1));
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
      return `rows of ${String(sql)}`;
    });
    const answer = await ask(openThis(), { stream, tools: [database] });
    expect(answer).toMatchObject({ content: 'Let me look.\n\nThere are 12.', inputTokens: 600, outputTokens: 60, restarts: 0 });
    expect(answer.read).toBe(stream ? answer.content : '');
    expect(database.inputs).toEqual([{ sql: 'select 1' }, { sql: 'select 2' }, { sql: 'select 3' }]);
    expect(most).toBe(2);
    expect(requests).toHaveLength(3);
    expect(JSON.stringify(requests[0]?.tools)).toContain('Does query.');
    const second = JSON.stringify(requests[1]?.messages);
    expect(second).toContain('rows of select 1');
    expect(second).toContain('rows of select 2');
    expect(second).toContain('Let me look.');
    expect(JSON.stringify(requests[1]?.system ?? requests[1]?.messages[0])).not.toContain('rows of');
  });

  test('a failure in a later call of the model repeats that call alone: no tool runs twice, and the reader gets the text again', async () => {
    const requests = outputs(
      { kind: 'tools', text: 'Let me look.', calls: [query('select 1')], usage: usage(100, 10) },
      stream ? { kind: 'unfinished', text: 'There are a', by: 'cut' } : { kind: 'failure', status: 503 },
      { kind: 'text', text: 'There are 12.', usage: usage(200, 20) },
    );
    const database = tool('query', () => '12');
    const answer = await ask(openThis(), { stream, tools: [database] });
    expect(answer).toMatchObject({ content: 'Let me look.\n\nThere are 12.', inputTokens: 300, restarts: stream ? 1 : 0 });
    expect(answer.read).toBe(stream ? answer.content : '');
    expect(database.inputs).toHaveLength(1);
    expect(requests).toHaveLength(3);
  });

  test('an unknown name is reported to the model', async () => {
    const requests = outputs({ kind: 'tools', calls: [{ name: 'drop_all', arguments: {} }] }, { kind: 'text', text: 'Sorry.' });
    const database = tool('query', () => '');
    expect(await ask(openThis(), { stream, tools: [database] })).toMatchObject({ content: 'Sorry.' });
    expect(database.inputs).toEqual([]);
    expect(JSON.stringify(requests[1]?.messages)).toContain('There is no tool of that name. There are: query.');
  });

  test('at the last call the model may only answer', async () => {
    const requests = outputs(
      { kind: 'tools', calls: [query('select 1')] },
      { kind: 'tools', calls: [query('select 2')] },
      { kind: 'text', text: 'As far as I got: 1.' },
    );
    const database = tool('query', () => '1');
    const answer = await ask(openThis({ maxModelCalls: 3 }), { stream, tools: [database] });
    expect(answer.content).toBe('As far as I got: 1.');
    const choices = requests.map(({ tool_choice }) => JSON.stringify(tool_choice ?? null));
    expect(choices[2]).toMatch(/none/);
    expect(choices.slice(0, 2).join()).not.toMatch(/none/);
  });

  test('a model that ignores what it may call is told at its last call to answer', async () => {
    const demand = /No more tools can be called\. Answer now/;
    const requests: string[] = [];
    model.follow((request) => {
      const text = JSON.stringify(request.messages);
      requests.push(text);
      return demand.test(text) ? { kind: 'text', text: 'As far as I got: 1.' } : { kind: 'tools', calls: [query('select 1')] };
    });
    const database = tool('query', () => '1');
    expect((await ask(openThis({ maxModelCalls: 3 }), { stream, tools: [database] })).content).toBe('As far as I got: 1.');
    expect(requests.map((text) => demand.test(text))).toEqual([false, false, true]);
    expect((await ask(openThis({ maxModelCalls: 1 }), { stream, tools: [database] })).content).toBe('As far as I got: 1.');
    await ask(openThis({ maxModelCalls: 1 }), { stream }).catch(() => undefined);
    expect(requests.at(-1)).not.toMatch(demand);
  });

  test('a model that only ever calls tools ends as a failure, within its calls', async () => {
    model.follow(() => ({ kind: 'tools', calls: [query('select 1')] }));
    const before = model.calls.length;
    const database = tool('query', () => '1');
    await expect(ask(openThis({ maxModelCalls: 4 }), { stream, tools: [database] })).rejects.toMatchObject({
      code: 'provider_error',
      details: { reason: 'empty' },
    });
    expect(database.inputs).toHaveLength(3);
    expect(model.calls.length - before).toBe(3 + 3);
  });
});

const streamed = [false, true].map((stream) => ({ stream }));

describe.each(streamed)('streamed $stream', ({ stream }) => {
  const deep = `{"sql": ${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
  test.each([
    ['cut off', '{"sql": "sel'],
    ['a list', '[1]'],
    ['a text', '"select 1"'],
    ['null', 'null'],
    ['nested too deep', deep],
  ])('arguments other than an object are reported and not run: %s', async (_, text) => {
    const requests = outputs({ kind: 'tools', calls: [{ name: 'query', arguments: text }] }, { kind: 'text', text: 'Sorry.' });
    const database = tool('query', () => '');
    expect(await ask(open().models, { stream, tools: [database] })).toMatchObject({ content: 'Sorry.' });
    expect(database.inputs).toEqual([]);
    expect(JSON.stringify(requests[1]?.messages)).toContain('were not a JSON object');
  });

  test('no arguments are an empty object', async () => {
    outputs({ kind: 'tools', calls: [{ name: 'query', arguments: '' }] }, { kind: 'text', text: 'Done.' });
    const database = tool('query', () => '');
    await ask(open().models, { stream, tools: [database] });
    expect(database.inputs).toEqual([{}]);
  });

  test('of many calls in one output the first sixteen are run, and the others get an error that says so', async () => {
    const requests = outputs(
      { kind: 'tools', calls: Array.from({ length: 40 }, (_, number) => query(`select ${number}`)) },
      { kind: 'text', text: 'Done.' },
    );
    const database = tool('query', () => '1');
    await ask(open().models, { stream, tools: [database] });
    expect(database.inputs).toHaveLength(16);
    expect(JSON.stringify(requests[1]?.messages).match(/At most 16 calls/g)).toHaveLength(24);
  });

  test('an error of a tool ends the answer with it, and aborts the other calls', async () => {
    outputs({ kind: 'tools', calls: [query('fail'), query('wait')] });
    const failure = new Error('may have been written');
    let ended: unknown;
    const database = tool('query', async ({ sql }, signal) => {
      if (sql === 'fail') throw failure;
      return await new Promise<string>((_, reject) => {
        signal.addEventListener('abort', () => {
          ended = signal.reason;
          reject(signal.reason);
        });
      });
    });
    await expect(ask(open().models, { stream, tools: [database] })).rejects.toBe(failure);
    expect(ended).toBe(failure);
  });

  test('an abort of the caller ends the answer while a tool ignores its signal', async () => {
    outputs({ kind: 'tools', calls: [query('select 1')] });
    const abort = new AbortController();
    const reason = new Error('no longer needed');
    const blocking = tool('query', () => {
      abort.abort(reason);
      return new Promise<string>(() => undefined);
    });
    await expect(ask(open().models, { stream, tools: [blocking] }, abort.signal)).rejects.toBe(reason);
  });

  test('a result that is too long is cut with a note, and with a full prompt the model must answer', async () => {
    const requests = outputs(
      { kind: 'tools', calls: [query('1'), query('2'), query('3'), query('4'), query('5')] },
      { kind: 'text', text: 'It is much.' },
    );
    const tier = { contextTokens: 5_000, maxOutputTokens: 1_000 };
    const answer = await ask(open({ tier }).models, { stream, tools: [tool('query', () => 'ü'.repeat(50_000))] });
    expect(answer.content).toBe('It is much.');
    const results = requests[1]?.messages.filter(({ role }) => role === 'tool').map(({ content }) => String(content)) ?? [];
    expect(results).toHaveLength(5);
    for (const result of results) {
      expect(Buffer.byteLength(result)).toBeLessThan(3_200);
      expect(result).toMatch(/^ü+\n\(The rest was left out/);
    }
    expect(requests[1]?.tool_choice).toBe('none');
  });

  const tokensOf = (request: ChatRequest | undefined) => estimateTokens((request?.messages ?? []).map(({ content }) => content).join(''));

  test('the results of many calls share the room that is left, also behind a long conversation', async () => {
    const requests = outputs(
      { kind: 'tools', calls: Array.from({ length: 8 }, (_, number) => query(`select ${number}`)) },
      { kind: 'text', text: 'It is much.' },
    );
    const tier = { contextTokens: 8_000, maxOutputTokens: 1_000 };
    const turn = { role: 'user', content: 'x'.repeat(300) } as const;
    const history = Array.from({ length: 200 }, () => [turn, { ...turn, role: 'assistant' as const }]).flat();
    await ask(open({ tier }).models, { stream, history, tools: [tool('query', () => 'ü'.repeat(50_000))] });
    const results = requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results).toHaveLength(8);
    for (const { content } of results) expect(Buffer.byteLength(String(content))).toBeGreaterThan(500);
    expect(tokensOf(requests[1])).toBeLessThan(7_000);
  });

  test('one result behind a long conversation has a quarter of the room, which the conversation leaves', async () => {
    const requests = outputs({ kind: 'tools', calls: [query('select 1')] }, { kind: 'text', text: 'It is much.' });
    const tier = { contextTokens: 8_000, maxOutputTokens: 1_000 };
    const history = Array.from({ length: 200 }, () => ({ role: 'user', content: 'x'.repeat(300) }) as const);
    await ask(open({ tier }).models, { stream, history, tools: [tool('query', () => 'x'.repeat(50_000))] });
    const [result] = requests[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(Buffer.byteLength(String(result?.content))).toBeGreaterThan(4_500);
    expect(tokensOf(requests[1])).toBeLessThan(7_000);
  });
});

describe('where each digit and punctuation mark is a token', () => {
  const tier = { contextTokens: 8_000, maxOutputTokens: 1_000 };
  const numbers = '2024-01-03 | 1234.56 | 78.90\n'.repeat(700);
  const countOf = (text: string) =>
    text.replace(/[^\d!-/:-@[-`{-~]/g, '').length + Math.ceil(text.replace(/[\d!-/:-@[-`{-~]/g, '').length / 3);
  /** As the chat template of a model has them, which does not have all of the JSON of a call. */
  const promptTokens = ({ messages, tools = [] }: ChatRequest) =>
    messages.reduce(
      (sum, { content, tool_calls = [] }) => sum + 4 + countOf(String(content ?? '')) + countOf(JSON.stringify(tool_calls.map(calledIn))),
      countOf(JSON.stringify(tools)),
    );
  /** Where thoughts are sent back. */
  const withThoughts = (request: ChatRequest) =>
    request.messages.reduce(
      (sum, message) => sum + countOf('reasoning_content' in message ? String(message.reasoning_content) : ''),
      promptTokens(request),
    );
  const calledIn = (call: unknown) => (call as { function: object }).function;
  const tooLong: ModelReply = { kind: 'raw', status: 400, body: '{"error":{"code":"context_length_exceeded"}}' };

  /** Calls the tool so often, and then answers; a prompt beyond the window is refused. Returns what each call was allowed. */
  function windowed(rounds: number, report: (counted: number) => number, countOf = promptTokens, calling?: object) {
    const choices: unknown[] = [];
    model.follow((request) => {
      const counted = countOf(request);
      if (counted > tier.contextTokens - tier.maxOutputTokens) return tooLong;
      choices.push(request.tool_choice);
      const isOver = choices.length > rounds || request.tool_choice === 'none';
      const reported = { usage: usage(report(counted), 10) };
      if (isOver) return { kind: 'text', text: 'It is much.', ...reported };
      if (!calling) return { kind: 'tools', calls: [query('select 1')], ...reported };
      return { kind: 'raw', body: JSON.stringify({ choices: [{ message: calling, finish_reason: 'stop' }], ...reported }) };
    });
    return choices;
  }

  test.each([
    ['which the provider counts', (counted: number) => counted],
    ['which the provider does not count', () => 0],
  ])('three long results leave room for an answer, %s', async (_, report) => {
    windowed(3, report);
    const database = tool('query', () => numbers);
    expect((await ask(open({ tier }).models, { tools: [database] })).content).toBe('It is much.');
    expect(database.inputs).toHaveLength(3);
  });

  test('thoughts that are sent back leave less for results', async () => {
    const thought = 'I think of it. '.repeat(1_000);
    const call = { id: 'x', type: 'function', function: query('select 1') };
    const message = { content: null, reasoning_content: thought, tool_calls: [call] };
    const choices: unknown[] = windowed(1, (counted) => (choices.length === 1 ? counted : 0), withThoughts, message);
    const database = tool('query', () => numbers);
    const answer = await ask(open({ tier }).models, { tools: [database] });
    expect([answer.content, choices]).toEqual(['It is much.', ['auto', 'none']]);
    // The estimate for the bill has no thoughts, which not every provider bills again.
    expect(answer.inputTokens).toBeLessThan(3_000);
  });

  test('a prompt of more tokens than its estimate leaves less for results', async () => {
    const choices = windowed(20, (counted) => counted);
    const message = '1'.repeat(6_000);
    const database = tool('query', () => numbers);
    expect((await ask(open({ tier }).models, { message, tools: [database] })).content).toBe('It is much.');
    expect(choices).toEqual(['auto', 'none']);
  });

  test('a prompt in a script of two bytes a letter, which has a third of its estimate, leaves more', async () => {
    const message = 'Сколько мы продали в этом месяце? '.repeat(180);
    /** Tokenizers have about 9 bytes of Cyrillic in a token. */
    const inCyrillic = ({ messages }: ChatRequest) => {
      const text = messages.map(({ content }) => content).join('');
      const cyrillic = Buffer.byteLength(text.replace(/[^а-яА-Я ?]/g, ''));
      return Math.ceil(cyrillic / 9 + (Buffer.byteLength(text) - cyrillic) / 3);
    };
    const rounds = async (report: (counted: number) => number) => {
      const choices = windowed(20, report, inCyrillic);
      await ask(open({ tier, maxModelCalls: 30 }).models, { message, tools: [tool('query', () => '1'.repeat(1_500))] });
      return choices.length - 1;
    };
    expect(await rounds((counted) => counted)).toBeGreaterThan(await rounds(() => 0));
  });

  test('a prompt of fewer tokens leaves more, and a count that it cannot have is ignored', async () => {
    const inThrees = ({ messages }: ChatRequest) => estimateTokens(messages.map(({ content }) => content).join(''));
    const rounds = async (report: (counted: number) => number) => {
      const choices = windowed(20, report, inThrees);
      await ask(open({ tier, maxModelCalls: 30 }).models, { tools: [tool('query', () => '1'.repeat(1_500))] });
      return choices.length - 1;
    };
    const uncounted = await rounds(() => 0);
    expect(await rounds(() => 500_000_000)).toBe(uncounted);
    expect(await rounds(() => 1)).toBe(uncounted);
    expect(await rounds((counted) => counted)).toBeGreaterThan(2 * uncounted);
  });
});
