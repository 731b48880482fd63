import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { testFolder } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { defaultPrices, keyVariablesOf, readModelsFile } from '../src/models-file.ts';

const folder = await testFolder();
const write = async (content: unknown) => {
  const path = join(folder, 'models.json');
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};
const read = async (content: unknown) => await readModelsFile(await write(content));
const server = { provider: 'openai-compatible', base_url: 'https://models.example.com/v1/', model: 'm' };

test('without a file every tier is the analyst at its default price', async () => {
  const { tiers } = await readModelsFile(undefined);
  expect(Object.keys(tiers)).toEqual(['Fast', 'Smart', 'Expert', 'Premium']);
  for (const [name, tier] of Object.entries(tiers))
    expect(tier).toEqual({ price: { ...defaultPrices }[name], contextTokens: 32_000, maxOutputTokens: 4_096, endpoints: [] });
});

test('the example of the guide is read, with defaults for absent fields', async () => {
  const { tiers } = await read({
    tiers: {
      Fast: {
        ...server,
        api_key_env: 'MODEL_API_KEY',
        timeout_ms: 30_000,
        price: { base: 1, per_1k_input: 0.5, per_1k_output: 1, ceiling: 4 },
        fallbacks: [
          { provider: 'anthropic', model: 'claude' },
          { ...server, timeout_ms: 5_000, extra_body: { reasoning_effort: 'none' } },
        ],
      },
      Smart: { price: { base: 3, per_1k_input: 1, per_1k_output: 1, ceiling: 9 } },
      Expert: { provider: 'built-in', context_tokens: 8_000 },
    },
  });
  const common = {
    provider: 'openai-compatible',
    baseUrl: 'https://models.example.com/v1',
    model: 'm',
    outputLimitParameter: 'max_tokens',
  };
  expect(tiers.Fast.price).toEqual({ base: 1, per1kInput: 0.5, per1kOutput: 1, ceiling: 4 });
  expect(tiers.Fast.endpoints).toEqual([
    { ...common, apiKeyEnv: 'MODEL_API_KEY', timeoutMs: 30_000 },
    {
      ...common,
      provider: 'anthropic',
      baseUrl: 'https://api.anthropic.com/v1',
      model: 'claude',
      apiKeyEnv: undefined,
      timeoutMs: 30_000,
    },
    { ...common, apiKeyEnv: undefined, timeoutMs: 5_000, extraBody: { reasoning_effort: 'none' } },
  ]);
  expect([tiers.Smart.price.ceiling, tiers.Smart.endpoints]).toEqual([9, []]);
  expect([tiers.Expert.contextTokens, tiers.Expert.endpoints]).toEqual([8_000, []]);
  expect((await read({ tiers: { Fast: server } })).tiers.Fast.endpoints[0]?.timeoutMs).toBe(60_000);
});

test.each<[unknown, RegExp]>([
  ['{"tiers":', /JSON5: invalid end of input at 1:10/],
  ['{"tiers": {\n  "Fast": oops }}', /at 2:11/],
  [{}, /tiers: /],
  [{ tiers: { Quick: server } }, /tiers: .*Quick/],
  [{ tiers: { fast: server } }, /tiers: .*fast/],
  [{ tiers: {}, more: 1 }, /more/],
  [{ tiers: { Fast: { ...server, modle: 'm' } } }, /tiers\.Fast: .*modle/],
  [{ tiers: { Fast: { model: 'm' } } }, /tiers\.Fast: .*model/],
  [{ tiers: { Fast: { ...server, provider: 'other' } } }, /tiers\.Fast\.provider/],
  [{ tiers: { Fast: { provider: 'openai-compatible', model: 'm' } } }, /tiers\.Fast\.base_url/],
  [{ tiers: { Fast: { ...server, base_url: 'ftp://x' } } }, /tiers\.Fast\.base_url: must be a URL/],
  [{ tiers: { Fast: { ...server, base_url: 'https://x/v1?key=1' } } }, /tiers\.Fast\.base_url: must not have a query/],
  [{ tiers: { Fast: { ...server, api_key_env: 'sk-123' } } }, /tiers\.Fast\.api_key_env/],
  [{ tiers: { Fast: { ...server, timeout_ms: 0 } } }, /tiers\.Fast\.timeout_ms/],
  [{ tiers: { Fast: { ...server, extra_body: 'reasoning_effort' } } }, /tiers\.Fast\.extra_body/],
  [
    { tiers: { Fast: { ...server, extra_body: { stream: false, max_tokens: 1 } } } },
    /tiers\.Fast\.extra_body: must not have max_tokens, stream, which the service sets/,
  ],
  [{ tiers: { Fast: { provider: 'anthropic', model: 'm', extra_body: {} } } }, /tiers\.Fast: .*extra_body/],
  [{ tiers: { Fast: { ...server, max_output_tokens: 40_000 } } }, /tiers\.Fast\.max_output_tokens: must be less/],
  [{ tiers: { Fast: { ...server, price: { base: 1 } } } }, /tiers\.Fast\.price\.per_1k_input/],
  [{ tiers: { Fast: { ...server, price: { base: 9, per_1k_input: 0, per_1k_output: 0, ceiling: 1.5 } } } }, /tiers\.Fast\.price\.ceiling/],
  [{ tiers: { Fast: { ...server, fallbacks: [server, { ...server, price: {} }] } } }, /tiers\.Fast\.fallbacks\.1: .*price/],
  [{ tiers: { Fast: { ...server, timeout_ms: 0 }, Smart: { ...server, model: '' } } }, /Fast\.timeout_ms[\s\S]*Smart\.model/],
])('a fault is named with its setting and field: %j', async (content, field) => {
  const failure = read(content);
  await expect(failure).rejects.toThrow(/^These settings need attention:\n {2}MODELS_FILE: /);
  await expect(failure).rejects.toThrow(field);
});

test('comments and trailing commas are accepted, as in the example of the guide', async () => {
  const text = `{ "tiers": { // by tier
    "Fast": { "provider": "anthropic", "model": "m", /* or another */ "api_key_env": "KEY_OF_FAST", },
  } }`;
  const file = await read(text);
  expect(file.tiers.Fast.endpoints[0]?.model).toBe('m');
  expect(keyVariablesOf(file)).toEqual(['KEY_OF_FAST']);
});

test('credentials in an address are refused and not repeated', async () => {
  const failure = read({ tiers: { Fast: { ...server, base_url: 'https://me:hunter2@models.example.com/v1' } } });
  await expect(failure).rejects.toThrow(/tiers\.Fast\.base_url: must not contain credentials/);
  await expect(failure).rejects.not.toThrow(/hunter2/);
});

test('a missing file is named', async () => {
  await expect(readModelsFile(join(folder, 'none.json'))).rejects.toThrow(/MODELS_FILE: .*none\.json/);
});
