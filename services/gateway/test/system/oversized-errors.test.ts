import { join } from 'node:path';
import { readCredentials } from '@agent-service/local/system/secrets';
import type { ReceivedResponse } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { makeAgent, shareWorld, type World } from './world.ts';

let world: World;
let demonstrationKey: string;
beforeAll(async () => {
  world = await shareWorld();
  demonstrationKey = readCredentials(join(world.system.dataDir, 'credentials.json'))?.api_keys.live ?? '';
}, 120_000);
afterAll(() => world?.stop());

/** Unknown columns of the connected table, up to the size limit of an entry. */
const wrongTable = (index: number) =>
  `orders(${Array.from({ length: 60 }, (_, column) => `no_such_column_number_${index}_${column}`).join(', ')})`
    .slice(0, 1_900)
    .replace(/,[^,]*$/, ')');
const wrongScope = {
  name: 'Wide',
  system_prompt: 'Answer.',
  data_scope: { tables: Array.from({ length: 195 }, (_, index) => wrongTable(index)) },
};

const post = (key: string, path: string, body: object, gateway?: string) =>
  world.call(key, { method: 'POST', path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }, gateway);

test('a wrong data_scope of 370 kB gets a bounded 400, and no other call of that gateway fails', async () => {
  const { live } = world.ours.keys;
  const agent = await makeAgent(world.call, live);
  let busy = true;
  const others: ReceivedResponse[] = [];
  const repeat = async (work: () => Promise<ReceivedResponse>) => {
    while (busy) others.push(await work());
  };
  const load = [1, 2, 3].flatMap(() => [
    repeat(() => world.call(live, { method: 'GET', path: '/v1/agents' })),
    repeat(() => post(live, `/v1/agents/${agent}/messages`, { message: 'How are you?' })),
  ]);
  const refusals: ReceivedResponse[] = [];
  for (let round = 0; round < 8; round += 1) refusals.push(await post(demonstrationKey, '/v1/agents', wrongScope));
  busy = false;
  await Promise.all(load);

  for (const refusal of refusals) {
    expect(refusal.status).toBe(400);
    const { error } = refusal.json<{ error: { code: string; param: string; details: { errors: object[]; errors_omitted: number } } }>();
    expect(error).toMatchObject({ code: 'invalid_request', param: 'data_scope.tables[0]' });
    expect(error.details.errors.length).toBeGreaterThan(0);
    expect(error.details.errors.length).toBeLessThanOrEqual(20);
    expect(error.details.errors.length + error.details.errors_omitted).toBe(195);
    expect(Buffer.byteLength(refusal.text)).toBeLessThan(8_192);
  }
  expect(others.length).toBeGreaterThan(12);
  expect(others.filter(({ status }) => status !== 200).map(({ status, text }) => `${status} ${text}`)).toEqual([]);
});
