import { ServiceError, type Tenant } from '@agent-service/contracts';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { dayMs } from '../src/domain/calendar.ts';
import { holdGraceMs } from '../src/domain/holds.ts';
import type { Operation } from '../src/domain/operations.ts';
import { removeEndedHolds, removeOldOperations, selectAccountsOfPastMonths, selectOverdueHolds } from '../src/store/due.ts';
import { createMonthStarter } from '../src/sweeps.ts';
import { type Composition, compose, usage } from './compose.ts';
import { verifyAll } from './verification.ts';

const january = Date.UTC(2026, 0, 31, 23, 50);
const february = Date.UTC(2026, 1, 1, 0, 10);
const users = 450;
const large: Tenant = { organizationId: 'org_large', environment: 'live' };
const small: Tenant = { organizationId: 'org_small', environment: 'live' };

let credits: Composition;

beforeAll(async () => {
  credits = await compose(january);
  await grantCredits(large, users);
  await grantCredits(small, 1);
});
afterAll(() => credits.stop());

/** Every user has 10 credits a month and has used 4; every second user carries over the rest. */
async function grantCredits(tenant: Tenant, count: number): Promise<void> {
  const each = (make: (n: number) => Operation) => Array.from({ length: count }, (_, n) => make(n));
  await credits.ledgers.commit(tenant, [{ kind: 'grant', id: 'g', amount: count * 30 }]);
  await credits.ledgers.commit(
    tenant,
    each((n) => ({ kind: 'allocate', id: `a${n}`, userId: `usr_${n}`, monthlyLimit: 10, rollover: n % 2 === 0 })),
  );
  await credits.ledgers.commit(
    tenant,
    each((n) => ({ kind: 'hold', id: `msg_${n}`, userId: `usr_${n}`, amount: 4, deadline: january })),
  );
  await credits.ledgers.commit(
    tenant,
    each((n) => ({ kind: 'settle', id: `msg_${n}`, amount: 4, usage })),
  );
}

test('the sweep starts the month of every account in bounded steps, also if it fails for one tenant', async () => {
  const commits: number[] = [];
  const ledgers: Composition['ledgers'] = {
    ...credits.ledgers,
    commit(tenant, operations) {
      commits.push(operations.length);
      if (tenant.organizationId === 'org_large' && commits.length === 1) return Promise.reject(new Error('not now'));
      return credits.ledgers.commit(tenant, operations);
    },
  };
  const turn = createMonthStarter({ ...credits, ledgers, now: () => credits.clock.now });
  expect(await turn()).toBe(0);
  credits.clock.now = february;
  for (let step = 0; step < 10; step += 1) await turn();
  expect(Math.max(...commits)).toBeLessThanOrEqual(200);
  const rows = await credits.store.sql<{ used: string; carried: number; balance: string; accounts: string }>(
    'select used, carried, balance, count(*) as accounts from user_accounts group by 1, 2, 3 order by carried',
  );
  expect(rows.map(({ used, carried, balance, accounts }) => [Number(used), carried, Number(balance), Number(accounts)])).toEqual([
    [0, 0, 10, 225],
    [0, 6, 16, 226],
  ]);
  expect(await verifyAll(credits.store)).toEqual([]);
});

test('a charge counts in the month it settles, and the records of both months agree with the rollups', async () => {
  credits.clock.now = february + 60_000;
  await credits.ledgers.commit(small, [{ kind: 'hold', id: 'msg_feb', userId: 'usr_0', amount: 4, deadline: february }]);
  await credits.ledgers.commit(small, [{ kind: 'settle', id: 'msg_feb', amount: 3, usage }]);
  const months = await credits.store.sql<{ day: string; credits: string; total: string }>(
    `select day::text as day, credits, credits_total as total from usage_by_user_agent where organization_id = 'org_small' order by day`,
  );
  expect(months.map(({ day, credits: sum, total }) => [day, Number(sum), Number(total)])).toEqual([
    ['2026-01-31', 4, 4],
    ['2026-02-01', 3, 7],
  ]);
  expect(await verifyAll(credits.store)).toEqual([]);
});

test('ended holds and old operations are removed after seven days, grants stay', async () => {
  const later = february + 8 * dayMs;
  await credits.ledgers.commit(small, [{ kind: 'hold', id: 'msg_open', userId: 'usr_0', amount: 1, deadline: february }]);
  expect(await removeEndedHolds(credits.store.sql, february)).toBe(0);
  expect(await removeEndedHolds(credits.store.sql, later)).toBe(users + 2);
  expect(await removeOldOperations(credits.store.sql, later)).toBe(users + 1);
  expect(await credits.store.sql('select id from holds')).toEqual([{ id: 'msg_open' }]);
  expect(await credits.store.sql('select id from operations')).toEqual([{ id: 'g' }, { id: 'g' }]);
  credits.clock.now = later;
  const [late] = await credits.ledgers.commit(small, [{ kind: 'settle', id: 'msg_feb', amount: 3, usage }]);
  expect(late).toMatchObject({ ok: false, code: 'hold_not_found' });
  expect(await verifyAll(credits.store)).toEqual([]);
});

test('an account whose month cannot be started does not stop the others of its tenant and page', async () => {
  const tenant: Tenant = { organizationId: 'org_faulty', environment: 'live' };
  const march = Date.UTC(2026, 2, 1, 0, 10);
  await grantCredits(tenant, 20);
  await credits.store.sql(`create function refuse_turn() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`);
  await credits.store.sql(
    `create trigger refused before update on user_accounts for each row when (new.organization_id = 'org_faulty' and new.user_id = 'usr_7')
     execute function refuse_turn()`,
  );
  credits.clock.now = march;
  const turn = createMonthStarter({ ...credits, now: () => credits.clock.now });
  for (let step = 0; step < 10; step += 1) await turn();
  const left = await credits.store.sql('select organization_id as id, user_id as "userId" from user_accounts where month < 2026 * 12 + 2');
  expect(left).toEqual([{ id: 'org_faulty', userId: 'usr_7' }]);
  await credits.store.sql('drop function refuse_turn cascade');
});

test('accounts behind a page of accounts that all fail do not wait for the pause of the sweep', async () => {
  const failing: Tenant = { organizationId: 'org_b_failing', environment: 'live' };
  const behind: Tenant = { organizationId: 'org_c_behind', environment: 'live' };
  await grantCredits(failing, 200);
  await grantCredits(behind, 1);
  const ledgers: Composition['ledgers'] = {
    ...credits.ledgers,
    commit: (tenant, operations) =>
      tenant.organizationId === failing.organizationId
        ? Promise.reject(new ServiceError('unavailable'))
        : credits.ledgers.commit(tenant, operations),
  };
  await createMonthStarter({ ...credits, now: () => credits.clock.now })();
  credits.clock.now = Date.UTC(2026, 3, 1, 0, 10);
  const turn = createMonthStarter({ ...credits, ledgers, now: () => credits.clock.now });
  // As the sweep does: again at once after a step that returns more than 0.
  while ((await turn()) > 0);
  const left = "select distinct organization_id as id from user_accounts where month < 2026 * 12 + 3 and organization_id <> 'org_faulty'";
  expect(await credits.store.sql(left)).toEqual([{ id: failing.organizationId }]);
});

test('a month begins while the partition after it cannot be created, as during an ANALYZE', async () => {
  const tenant: Tenant = { organizationId: 'org_analyzed', environment: 'live' };
  await grantCredits(tenant, 1);
  await credits.ledgers.prepareNextMonth();
  const analyzing = new Client({ connectionString: credits.database.url, options: '-c search_path=credits' });
  await analyzing.connect();
  await analyzing.query('begin; analyze usage_records');
  credits.clock.now = Date.UTC(2026, 4, 1);
  const [result] = await credits.ledgers.commit(tenant, [
    { kind: 'hold', id: 'msg_may', userId: 'usr_0', amount: 4, deadline: credits.clock.now },
  ]);
  await analyzing.end();
  expect(result).toMatchObject({ ok: true });
  await credits.ledgers.prepareNextMonth();
  expect(await credits.store.sql("select to_regclass('usage_records_2026_06') is not null as made")).toEqual([{ made: true }]);
});

test('pages of due rows list each of them once, also those of one deadline, from the moment that they are due', async () => {
  const tenant: Tenant = { organizationId: 'org_due', environment: 'live' };
  const { store, ledgers, clock } = credits;
  const deadline = clock.now - 365 * dayMs;
  const ids = ['msg_1', 'msg_2', 'msg_3', 'msg_4', 'msg_5'];
  await ledgers.commit(tenant, [{ kind: 'grant', id: 'g', amount: 10_000 }]);
  for (const id of ids.toReversed()) await ledgers.commit(tenant, [{ kind: 'hold', id, userId: `usr_of_${id}`, amount: 1, deadline }]);
  const dueAt = deadline + holdGraceMs;
  expect(await selectOverdueHolds(store.sql, dueAt - 1, undefined, 2)).toEqual([]);
  const listed: string[] = [];
  for (let page = await selectOverdueHolds(store.sql, dueAt, undefined, 2); page.length > 0; ) {
    listed.push(...page.map(({ holdId }) => holdId));
    page = await selectOverdueHolds(store.sql, dueAt, [deadline, tenant.organizationId, tenant.environment, listed.at(-1) ?? ''], 2);
  }
  expect(listed).toEqual(ids);
  const past = 3_000 * 12;
  const accounts = await selectAccountsOfPastMonths(store.sql, past, undefined, 1_000);
  expect(await selectAccountsOfPastMonths(store.sql, past, accounts[0], 1_000)).toEqual(accounts.slice(1));
});

test('ended holds that another transaction has locked do not stop the removal of the others', async () => {
  const tenant: Tenant = { organizationId: 'org_removed', environment: 'live' };
  const { store, ledgers, clock, database } = credits;
  await ledgers.commit(
    tenant,
    ['msg_1', 'msg_2'].map((id) => ({ kind: 'release', id })),
  );
  const locking = new Client({ connectionString: database.url, options: '-c search_path=credits' });
  await locking.connect();
  await locking.query("begin; select 1 from holds where organization_id = 'org_removed' and id = 'msg_1' for update");
  await removeEndedHolds(store.sql, clock.now + 8 * dayMs);
  await locking.end();
  expect(await store.sql("select id from holds where organization_id = 'org_removed'")).toEqual([{ id: 'msg_1' }]);
});
