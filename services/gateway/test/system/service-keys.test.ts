import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, createClient } from '@agent-service/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { shareWorld, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await shareWorld();
});
afterAll(() => world?.stop());

/** The service keys in the environment of each process. */
function givenKeys(): Map<string, Map<string, string[]>> {
  const pids = JSON.parse(readFileSync(join(world.system.dataDir, 'processes.json'), 'utf8')) as Record<string, number>;
  const rings = Object.entries(pids).map(([name, pid]) => {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    expect([name, variables.filter((entry) => entry.includes(world.system.secrets.SERVICE_SECRET))]).toEqual([name, []]);
    const entries = variables.find((entry) => entry.startsWith('SERVICE_KEYS='))?.slice('SERVICE_KEYS='.length) ?? '';
    const pairs = entries.split(',').map((entry) => entry.split(':') as [string, string]);
    return [name, new Map(pairs.map(([service, key]) => [service, [key]]))] as const;
  });
  return new Map(rings.filter(([name]) => !['postgres', 'redis'].includes(name)));
}

async function withAgents<T>(
  as: string,
  keys: Map<string, string[]> | undefined,
  work: (agents: Client<'agents'>) => Promise<T>,
): Promise<T> {
  const agents = createClient('agents', { address: world.system.endpoints['agents'] ?? '', as, config: { SERVICE_KEYS: keys } });
  try {
    return await work(agents);
  } finally {
    agents.close();
  }
}

test('no process gets the secret of the operator, or a key of a second process', () => {
  const keys = [...givenKeys()].flatMap(([name, ring]) =>
    [...ring].map(([service, [key]]) => ({ owner: name.replace(/-2$/, ''), service, key })),
  );
  expect(keys.length).toBeGreaterThan(8);
  for (const { owner, key } of keys)
    expect(new Set(keys.filter((each) => each.key === key).map((each) => each.owner))).toEqual(new Set([owner]));
});

test('the keys of one process do not allow it to act as the operator, the gateway or a different service', async () => {
  const worker = givenKeys().get('answer-worker');
  const list = (agents: Client<'agents'>) => agents.listDataSources({});
  await withAgents('answer-worker', worker, async (agents) => {
    expect(await agents.renewLeases({ answers: [] })).toBeDefined();
    await expect(list(agents)).rejects.toMatchObject({ code: 'service_forbidden' });
  });
  for (const name of ['operator', 'gateway', 'templates'])
    await expect(withAgents(name, worker, list)).rejects.toMatchObject({ code: 'service_forbidden' });
});
