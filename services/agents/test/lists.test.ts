import { countLockWaits, randomFrom, runSeed, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { asCaller, type BootedService, boot, createAgent } from './boot.ts';

interface CreatedAgent {
  id: string;
  name: string;
  description: string;
  category: string;
  status: string;
}

interface Filter {
  category?: string;
  status?: string;
  search?: string;
}

const words = ['Sales', 'sales report', 'Umsatz 100 %', 'under_score', 'back\\slash', 'ΟΔΟΣ', '東京の在庫', 'Straße', "it's", 'a', ''];
const categories = ['', 'sales', 'finance', 'Sales'];
const clock = { now: Date.UTC(2026, 0, 15, 12) };
const created: CreatedAgent[] = [];
let agents: BootedService;

beforeAll(async () => {
  agents = await boot({ now: () => clock.now });
  const random = randomFrom(runSeed('lists of agents'));
  const pick = <T>(from: readonly T[]): T => from[random.below(from.length)] as T;
  for (let n = 0; n < 104; n += 1) {
    // Some in the same millisecond, so that only the id tells them apart.
    clock.now += random.below(3);
    const parts = { name: `${pick(words)} ${n}`, description: pick(words), category: pick(categories) };
    const id = await createAgent(agents.gateway, parts);
    const status = pick(['draft', 'active', 'inactive']);
    for (const step of status === 'inactive' ? ['active', 'inactive'] : status === 'active' ? ['active'] : []) {
      await asCaller({}, () => agents.gateway.updateAgent({ agentId: id, status: step }));
    }
    created.push({ id, status, ...parts });
  }
  await createAgent(agents.gateway, { name: 'Sales of others' }, { organizationId: 'org_b' });
  await createAgent(agents.gateway, { name: 'Sales in test' }, { environment: 'test' });
});
afterAll(() => agents.stop());

const list = (filter: Filter, page: { limit?: number; cursor?: string } = {}, caller = {}) =>
  asCaller(caller, () => agents.gateway.listAgents({ ...filter, page }));

const folded = (text: string) => text.toLowerCase().replaceAll('ς', 'σ').replaceAll('ß', 'ss');

/** The expected ids of a list, by filtering all created agents. */
const expected = ({ category, status, search = '' }: Filter): string[] =>
  created
    .filter((agent) => category === undefined || agent.category === category)
    .filter((agent) => !status || agent.status === status)
    .filter(({ name, description }) => [name, description].some((text) => folded(text).includes(folded(search))))
    .map(({ id }) => id)
    .reverse();

async function walk(filter: Filter, limit: number): Promise<{ ids: string[]; totals: Set<number>; pages: number }> {
  const ids: string[] = [];
  const totals = new Set<number>();
  let cursor = '';
  let pages = 0;
  do {
    const { agents: listed, page } = await list(filter, { limit, cursor });
    ids.push(...listed.map(({ id }) => id));
    totals.add(Number(page?.total));
    cursor = page?.nextCursor ?? '';
    pages += 1;
  } while (cursor !== '');
  return { ids, totals, pages };
}

const searches = [
  '',
  'sales',
  'SALES',
  '%',
  '_',
  '\\',
  's\\',
  '100 %',
  'οδος',
  'οδ',
  '東',
  '東京',
  '在庫',
  'straße',
  'STRAẞE',
  "'",
  ' 1',
  '11',
  'no such words',
  '😀',
];
const filters: Filter[] = [
  {},
  { category: 'sales' },
  { category: '' },
  { status: 'active' },
  { category: 'finance', status: 'draft' },
  { category: 'unknown' },
];

test.each(filters)('pages of %j hold everything once, newest first, with the exact total', async (filter) => {
  for (const search of searches) {
    const request = { ...filter, ...(search && { search }) };
    const ids = expected(request);
    for (const limit of [23, 100]) {
      const walked = await walk(request, limit);
      expect([search, walked.ids]).toEqual([search, ids]);
      expect([...walked.totals]).toEqual([ids.length]);
      expect(walked.pages).toBe(Math.max(1, Math.ceil(ids.length / limit)));
    }
  }
});

test('the default page has 20, and no page more than 100', async () => {
  expect((await list({})).agents).toHaveLength(20);
  expect((await list({}, { limit: 1_000 })).agents).toHaveLength(100);
});

test.each([{ category: 'moving' }, { category: 'moving by search', search: 'moving' }])(
  'agents of %j that are created and deleted between two pages neither repeat nor hide others, and are counted',
  async (filter) => {
    const { category } = filter;
    const ids: string[] = [];
    for (let n = 0; n < 10; n += 1) {
      clock.now += 1;
      ids.unshift(await createAgent(agents.gateway, { name: `moving ${n}`, category }));
    }
    const first = await list(filter, { limit: 4 });
    await createAgent(agents.gateway, { name: 'moving newest', category });
    await asCaller({}, () => agents.gateway.deleteAgent({ agentId: ids[1] as string }));
    await asCaller({}, () => agents.gateway.deleteAgent({ agentId: ids[5] as string }));
    const second = await list(filter, { limit: 100, cursor: first.page?.nextCursor ?? '' });
    expect([...first.agents, ...second.agents].map(({ id }) => id)).toEqual(ids.filter((_, n) => n !== 5));
    expect(Number(second.page?.total)).toBe(9);
  },
);

test('a cursor opens nothing but its own list', async () => {
  const cursor = (await list({ search: 'a' }, { limit: 3 })).page?.nextCursor ?? '';
  expect(cursor).not.toBe('');
  const others: [Filter, object][] = [
    [{}, {}],
    [{ search: 'b' }, {}],
    [{ search: 'a', status: 'draft' }, {}],
    [{ search: 'a', category: '' }, {}],
    [{ search: 'a' }, { organizationId: 'org_b' }],
    [{ search: 'a' }, { environment: 'test' }],
  ];
  for (const [filter, caller] of others) {
    await expect(list(filter, { cursor }, caller)).rejects.toMatchObject({ code: 'invalid_cursor' });
  }
  const altered = `${cursor.slice(0, -2)}${cursor.endsWith('AA') ? 'BB' : 'AA'}`;
  await expect(list({ search: 'a' }, { cursor: altered })).rejects.toMatchObject({ code: 'invalid_cursor' });
});

test('a category of any 2,000 letters is stored, changed, listed and counted apart from one with the same beginning', async () => {
  const random = randomFrom(runSeed('long categories'));
  const caller = { organizationId: 'org_long' };
  // Four bytes each, and no two parts alike: nothing that an index could store in full.
  const letters = (count: number) => Array.from({ length: count }, () => String.fromCodePoint(0x20000 + random.below(40_000))).join('');
  const beginning = letters(1_900);
  const [one, other] = [beginning + letters(100), beginning + letters(100)];
  const ids: string[] = [];
  for (const category of [one, other, one]) {
    clock.now += 1;
    ids.push(await createAgent(agents.gateway, { category }, caller));
  }
  const [first, second, third] = ids as [string, string, string];
  const listed = async (filter: Filter, page = {}) => {
    const answer = await list(filter, page, caller);
    return { ids: answer.agents.map(({ id }) => id), total: Number(answer.page?.total), cursor: answer.page?.nextCursor ?? '' };
  };
  const page = await listed({ category: one }, { limit: 1 });
  expect(page).toMatchObject({ ids: [third], total: 2 });
  expect(await listed({ category: one }, { cursor: page.cursor })).toEqual({ ids: [first], total: 2, cursor: '' });
  await asCaller(caller, () => agents.gateway.updateAgent({ agentId: third, category: other, status: 'active' }));
  expect(await listed({ category: one })).toMatchObject({ ids: [first], total: 1 });
  expect(await listed({ category: other, status: 'active' })).toMatchObject({ ids: [third], total: 1 });
  expect(await listed({ category: other, search: 'sales' })).toMatchObject({ ids: [third, second], total: 2 });
  await asCaller(caller, () => agents.gateway.deleteAgent({ agentId: second }));
  expect(await listed({ category: other })).toMatchObject({ ids: [third], total: 1 });
  expect(await listed({})).toMatchObject({ ids: [third, first], total: 2 });
});

test('an agent is found by its present name and description, and no longer by former ones', async () => {
  const caller = { organizationId: 'org_renamed' };
  const agentId = await createAgent(agents.gateway, { name: 'Zephyr', description: 'about wind' }, caller);
  const foundBy = async (...searches: string[]) =>
    await Promise.all(searches.map(async (search) => (await list({ search }, {}, caller)).agents.length));
  const words = ['zephyr', 'boreas', 'wind', 'storms'];
  expect(await foundBy(...words)).toEqual([1, 0, 1, 0]);
  await asCaller(caller, () => agents.gateway.updateAgent({ agentId, name: 'Boreas' }));
  expect(await foundBy(...words)).toEqual([0, 1, 1, 0]);
  await asCaller(caller, () => agents.gateway.updateAgent({ agentId, description: 'about storms' }));
  expect(await foundBy(...words)).toEqual([0, 1, 0, 1]);
});

test('searches, and lists of categories without a counter, hold one connection for each organization', async () => {
  const waiting = (statement: string) => countLockWaits(agents.databaseUrl, statement);
  const lists: ReturnType<typeof list>[] = [];
  const locked = await agents.database.connect();
  await locked.query('begin');
  try {
    // The lock stands for statements that take long.
    await locked.query('lock table agents in access exclusive mode');
    lists.push(...Array.from({ length: 20 }, () => list({ search: 'sales' })));
    lists.push(...Array.from({ length: 20 }, () => list({ category: 'x'.repeat(2_000) })));
    await until('the first of them waits', async () => (await waiting('with matches')) === 1);
    lists.push(list({ category: 'x'.repeat(2_000) }, {}, { organizationId: 'org_b' }));
    await until('another organization has a connection as well', async () => (await waiting('select count(*) from agents')) === 1);
    for (let round = 0; round < 5; round += 1) expect((await agents.operator.listDataSources({})).dataSources).toEqual([]);
    expect([await waiting('with matches'), await waiting('select count(*) from agents')]).toEqual([1, 1]);
  } finally {
    await locked.query('rollback');
    locked.release();
  }
  const totals = (await Promise.all(lists)).map(({ page }) => Number(page?.total));
  expect(totals).toEqual([...Array(20).fill(expected({ search: 'sales' }).length), ...Array(21).fill(0)]);
});

test('tenants see their own and count their own', async () => {
  for (const caller of [{ organizationId: 'org_b' }, { environment: 'test' as const }]) {
    for (const search of ['', 'sales']) {
      const { agents: listed, page } = await list({ search }, {}, caller);
      expect([listed.length, Number(page?.total)]).toEqual([1, 1]);
    }
  }
  const { page } = await list({}, {}, { organizationId: 'org_nobody' });
  expect(page).toEqual({ total: '0', nextCursor: '' });
});
