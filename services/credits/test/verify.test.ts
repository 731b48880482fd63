import { ServiceError } from '@agent-service/contracts';
import type { Sql, Store } from '@agent-service/store';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { dayMs } from '../src/domain/calendar.ts';
import { type Step, verifyStep } from '../src/ledger/verify.ts';
import { rollups } from '../src/store/save.ts';
import { type Composition, compose } from './compose.ts';
import { verifyAll } from './verification.ts';

const now = Date.UTC(2026, 0, 15);
let credits: Composition;

beforeAll(async () => {
  credits = await compose(now);
  const tenant = { organizationId: 'org_a', environment: 'live' } as const;
  const usage = {
    agentId: 'agt_1',
    agentName: 'Sales',
    conversationId: 'c',
    tier: 'Fast',
    inputTokens: 1,
    outputTokens: 1,
    querySummary: '',
  };
  await credits.ledgers.commit(tenant, [{ kind: 'grant', id: 'g', amount: 1_000 }]);
  await credits.ledgers.commit(tenant, [
    { kind: 'hold', id: 'm1', userId: 'usr_1', amount: 4, deadline: now },
    { kind: 'hold', id: 'm2', userId: 'usr_1', amount: 4, deadline: now },
  ]);
  await credits.ledgers.commit(tenant, [{ kind: 'settle', id: 'm1', amount: 3, usage }]);
});
afterAll(() => credits.stop());

beforeEach(async () => expect(await verifyAll(credits.store)).toEqual([]));
afterEach(async () => expect(await verifyAll(credits.store)).toEqual([]));

/** The discrepancies after a direct change in the database, which is then undone. */
async function discrepanciesAfter(change: string, undo: string): Promise<string[]> {
  await credits.store.sql(change);
  const discrepancies = await verifyAll(credits.store);
  await credits.store.sql(undo);
  return discrepancies.map(({ account, equation }) => `${account}: ${equation}`);
}

test('a changed account is reported', async () => {
  expect(
    await discrepanciesAfter(
      'update user_accounts set used = used + 1, balance = balance - 1',
      'update user_accounts set used = used - 1, balance = balance + 1',
    ),
  ).toEqual([
    'usr_1: balance = its transfers',
    'usr_1: used this month = usage records of the month',
    'ledger: allocated = user accounts + their open holds',
  ]);
});

test('a lost hold is reported', async () => {
  expect(
    await discrepanciesAfter("update holds set user_id = 'usr_x' where id = 'm2'", "update holds set user_id = 'usr_1' where id = 'm2'"),
  ).toEqual(['usr_1: held = open holds', 'ledger: no open hold is without an account']);
});

test('a changed record is reported with every sum that it is part of', async () => {
  const discrepancies = await discrepanciesAfter(
    'update usage_records set credits = credits + 1',
    'update usage_records set credits = credits - 1',
  );
  expect(discrepancies).toEqual([
    'usage_by_tier Fast 2026-01-15 (2026-01): credits = usage records',
    'usage_by_user usr_1 Fast 2026-01-15 (2026-01): credits = usage records',
    'usage_by_agent agt_1 Fast 2026-01-15 (2026-01): credits = usage records',
    'usage_by_user_agent usr_1 agt_1 Fast 2026-01-15 (2026-01): credits = usage records',
    'usage_user_days usr_1 2026-01-15 (2026-01): credits = usage records',
    'usr_1 (2026-01): charges = usage records of the user',
    'usr_1: used this month = usage records of the month',
    'ledger: spent = usage records',
  ]);
});

test('a wrong running total, count of users or last day is reported', async () => {
  expect(
    await discrepanciesAfter(
      'update usage_by_user set credits_total = credits_total + 1',
      'update usage_by_user set credits_total = credits_total - 1',
    ),
  ).toEqual(['usage_by_user usr_1 Fast 2026-01-15 (2026-01): running credits = those before + the day']);
  expect(
    await discrepanciesAfter(
      "update usage_unique_users set users = 2 where grain = 'week' and agent_id = ''",
      'update usage_unique_users set users = 1',
    ),
  ).toEqual(['usage_unique_users  week 2026-01-12 (2026-01): users = those with records']);
  expect(
    await discrepanciesAfter("update usage_users set last_day = '2026-01-16'", "update usage_users set last_day = '2026-01-15'"),
  ).toEqual(['usage_users usr_1: first and last day = those of the rollup (days between them)']);
});

test('a row of a rollup that has another key than its records is reported', async () => {
  for (const table of Object.keys(rollups).filter((each) => each !== 'usage_user_days')) {
    const discrepancies = await discrepanciesAfter(`update ${table} set tier = 'Smart'`, `update ${table} set tier = 'Fast'`);
    expect(discrepancies).toContainEqual(expect.stringMatching(new RegExp(`^${table} .*Fast 2026-01-15 .*: credits = usage records$`)));
  }
});

test('sums of a day without records or transfers are reported', async () => {
  const day = '2026-01-09';
  for (const [table, keys] of Object.entries(rollups)) {
    const columns = ['organization_id', 'environment', ...keys].join(', ');
    const discrepancies = await discrepanciesAfter(
      `insert into ${table} (${columns}, day, credits, queries, credits_total, queries_total)
       select ${columns}, '${day}', 1, 1, 1, 1 from ${table}`,
      `delete from ${table} where day = '${day}'`,
    );
    const equation = table === 'usage_by_tier' ? 'usage records' : 'those by tier';
    expect(discrepancies.filter((each) => each.startsWith(`${table} `) && each.includes(': credits = '))).toEqual([
      expect.stringMatching(new RegExp(`^${table} .*${day} .*: credits = ${equation}$`)),
    ]);
  }
});

test('no statement reads more than a day of records or transfers, however long the month is', async () => {
  const { store } = credits;
  const readDays: number[] = [];
  const recording = (sql: Sql): Sql => {
    return (text, values) => {
      const ofRows = /from (usage_records|transfers) where [^)]* at >= \$3 and at < \$4/.test(text);
      if (ofRows) readDays.push((Date.parse(String(values?.[3])) - Date.parse(String(values?.[2]))) / dayMs);
      // The first and last time come from an index, and so does the one row that shows that a day has any.
      else {
        const bounds = /min\(at\)\), max\(at\), '1 month'\)::date from (usage_records|transfers)/g;
        const one = /select true from (usage_records|transfers) where [^)]* limit 1\)/g;
        expect(text.replace(bounds, '').replace(one, '')).not.toMatch(/usage_records|transfers/);
      }
      return sql(text, values);
    };
  };
  const watched = {
    ...store,
    transaction: (work, options) => store.transaction((open) => work({ em: open.em, sql: recording(open.sql) }), options),
  } as Store;
  expect(await verifyAll(watched)).toEqual([]);
  expect(new Set(readDays)).toEqual(new Set([1]));
});

test('a tenant with a statement that takes too long is named, and the faults of the next tenant are reported', async () => {
  const { store, ledgers } = credits;
  const large = { organizationId: 'org_0', environment: 'live' } as const;
  await ledgers.commit(large, [{ kind: 'grant', id: 'g', amount: 1_000 }]);
  const slow = (sql: Sql): Sql => {
    return (text, values) => (values?.[0] === large.organizationId ? sql('select pg_sleep(20)') : sql(text, values));
  };
  const slowed = {
    ...store,
    transaction: (work) => store.transaction((open) => work({ em: open.em, sql: slow(open.sql) }), { statementLimitMs: 50 }),
  } as Store;
  await store.sql('update user_accounts set used = used + 1, balance = balance - 1');
  const steps: Step[] = [];
  for (let step = await verifyStep(slowed, '', undefined); step; step = await verifyStep(slowed, '', step.progress)) steps.push(step);
  await store.sql('update user_accounts set used = used - 1, balance = balance + 1');
  expect(steps[0]).toMatchObject({ progress: { tenant: large, month: null }, failure: { code: 'unavailable', cause: { code: '57014' } } });
  expect(steps.slice(1).flatMap(({ faults }) => faults.map(({ account }) => account))).toEqual(['usr_1', 'usr_1', 'ledger']);
});

test('a verification ends where the database is away', async () => {
  const { store } = credits;
  const transaction = () => Promise.reject(new ServiceError('unavailable', { cause: new Error('Connection terminated') }));
  await expect(verifyStep({ ...store, transaction } as Store, '', undefined)).rejects.toMatchObject({ code: 'unavailable' });
});

test('a record that exists twice is reported, also on another day', async () => {
  const columns =
    'organization_id, environment, hold_id, user_id, agent_id, agent_name, conversation_id, tier, credits, input_tokens, output_tokens, query_summary';
  const discrepancies = await discrepanciesAfter(
    `insert into usage_records (id, at, ${columns}) select 'twice', at + interval '1 day', ${columns} from usage_records`,
    "delete from usage_records where id = 'twice'",
  );
  expect(discrepancies).toContain('usage_records 2026-01-16 (2026-01): records with credits = charges');
});

test('the database refuses negative figures, an overspent limit and any change of a transfer', async () => {
  const refused = (statement: string) => expect(credits.store.sql(statement)).rejects.toThrow(/violates check constraint|append-only/);
  await refused('update user_accounts set balance = -1');
  await refused('update user_accounts set balance = balance + 500');
  await refused('update ledgers set unallocated = unallocated + 1');
  await refused('update transfers set amount = amount + 1');
  await refused('delete from transfers');
  await refused('truncate transfers');
});
