import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultPrices } from '@agent-service/models/models-file';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readPrices } from '../src/start.ts';
import { type BootedService, boot, tenantOf } from './boot.ts';
import { query } from './verification.ts';

const tenant = tenantOf('org_prices');
const fast = { base: 2, per_1k_input: 0, per_1k_output: 3, ceiling: 9 };

let folder: string;
let credits: BootedService;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'prices-'));
  const file = await fileOf(
    JSON.stringify({ tiers: { Fast: { provider: 'openai-compatible', base_url: 'http://127.0.0.1:9/v1', model: 'm', price: fast } } }),
  );
  credits = await boot({ settings: { MODELS_FILE: file } });
  await credits.operator.grant({ tenant, grantId: 'g', amount: 10_000 });
});
afterAll(async () => {
  await credits?.stop();
  await rm(folder, { recursive: true });
});

async function fileOf(content: string): Promise<string> {
  const path = join(folder, 'models.json');
  await writeFile(path, content);
  return path;
}

const deadlineMs = Date.now() + 300_000;
const holdItem = (holdId: string, priced: { amount?: number; tier?: string }) => ({
  tenant,
  holdId,
  userId: 'usr_1',
  deadlineMs,
  ...priced,
});
const settleItem = (holdId: string, tier: string, more: { amount?: number; querySummary?: string } = {}) => ({
  tenant,
  holdId,
  agentId: 'agt_1',
  agentName: 'Sales',
  conversationId: 'conv_1',
  tier,
  inputTokens: 1_500,
  outputTokens: 1_001,
  ...more,
});
const unknownTiers = ['', 'fast', 'Nano', '__proto__', 'constructor'];

describe('prices', () => {
  test('a hold without an amount takes the ceiling of its tier; an amount takes precedence', async () => {
    const { results } = await credits.agents.hold({
      items: [
        holdItem('h1', { tier: 'Fast' }),
        holdItem('h2', { tier: 'Premium' }),
        holdItem('h3', { tier: 'Fast', amount: 7 }),
        holdItem('h4', { amount: 0 }),
      ],
    });
    expect(results.map(({ held }) => held)).toEqual([9, 50, 7, 0]);
  });

  test('an answer without an amount is charged by its tier and tokens; an amount takes precedence', async () => {
    const ids = ['s1', 's2', 's3', 's4'];
    await credits.agents.hold({ items: ids.map((id) => holdItem(id, { amount: 50 })) });
    const { results } = await credits.agents.settle({
      items: [
        settleItem('s1', 'Fast'),
        settleItem('s2', 'Expert'),
        settleItem('s3', 'Fast', { amount: 1 }),
        settleItem('s4', 'Fast', { amount: 0 }),
      ],
    });
    expect(results.map(({ charged }) => charged)).toEqual([6, 13, 1, 0]);
  });

  test('an unknown tier is refused for its item only', async () => {
    const holds = await credits.agents.hold({
      items: [...unknownTiers.map((tier, i) => holdItem(`u${i}`, { tier })), holdItem('u', { amount: 5, tier: 'Nano' })],
    });
    const refused = unknownTiers.map(() => 'invalid_request');
    expect(holds.results.map(({ refusal, held: amount }) => refusal?.code ?? amount)).toEqual([...refused, 5]);
    const tiers = [...unknownTiers, ...unknownTiers];
    const { results } = await credits.agents.settle({
      items: [...tiers.map((tier, i) => settleItem('u', tier, i % 2 === 0 ? {} : { amount: 1 })), settleItem('u', 'Fast')],
    });
    expect(results.map(({ refusal, charged }) => refusal?.code ?? charged)).toEqual([...refused, ...refused, 5]);
  });

  test('the first 120 characters of a message are stored, none of them split', async () => {
    await credits.agents.hold({ items: [holdItem('q', { tier: 'Fast' })] });
    const { results } = await credits.agents.settle({ items: [settleItem('q', 'Fast', { querySummary: `a${'😀'.repeat(1_500)}` })] });
    expect(results[0]?.charged).toBe(6);
    const [row] = await query<{ query_summary: string }>(credits.url, "select query_summary from usage_records where hold_id = 'q'");
    expect(row?.query_summary).toBe(`a${'😀'.repeat(119)}`);
  });
});

describe('the models file', () => {
  test('without it the default prices apply', async () => {
    expect(await readPrices(undefined)).toEqual(defaultPrices);
  });

  test.each([
    'no json',
    '[]',
    '{}',
    JSON.stringify({ tiers: { fast: { price: fast } } }),
    JSON.stringify({ tiers: { Fast: { price: { base: 1 } } } }),
    JSON.stringify({ tiers: { Fast: { price: { ...fast, base: -1 } } } }),
    JSON.stringify({ tiers: { Smart: { price: { ...fast, ceiling: 1.5 } } } }),
    JSON.stringify({ tiers: { Smart: { price: { ...fast, per_1k_input: '1' } } } }),
  ])('a malformed one ends the start and is named: %s', async (content) => {
    await expect(boot({ databaseUrl: credits.url, settings: { MODELS_FILE: await fileOf(content) } })).rejects.toThrow(/MODELS_FILE/);
  });

  test('a missing file fails the start and is named', async () => {
    await expect(readPrices(join(folder, 'none.json'))).rejects.toThrow(/MODELS_FILE/);
  });
});
