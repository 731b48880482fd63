import type { Tenant } from '@agent-service/contracts';
import type { Sql, Store } from '@agent-service/store';
import { countLockWaits, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import type { Operation } from '../src/domain/operations.ts';
import { createLedgers } from '../src/ledger/ledgers.ts';
import { addLedger, loadStatements } from '../src/store/load.ts';
import { type Composition, compose, usage } from './compose.ts';
import { verifyAll } from './verification.ts';

const start = Date.UTC(2026, 0, 15);
const deadline = start + 300_000;

let credits: Composition;
let other: Client;
beforeAll(async () => {
  credits = await compose(start);
  other = new Client({ connectionString: credits.database.url, options: '-c search_path=credits' });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await credits.stop();
});

const tenantOf = (organizationId: string): Tenant => ({ organizationId, environment: 'live' });
const grant = (amount: number, id = 'g'): Operation => ({ kind: 'grant', id, amount });
const hold = (id: string, userId = 'usr_a', amount = 10): Operation => ({ kind: 'hold', id, userId, amount, deadline });

/** Ledgers of a process of their own, with the number of statements that they sent outside of transactions. */
function createCounted(options: Partial<Parameters<typeof createLedgers>[0]> = {}) {
  const { store } = credits;
  const counts = { statements: 0 };
  const sql: Sql = (...parameters) => {
    counts.statements += 1;
    return store.sql(...parameters);
  };
  const counted: Store = Object.create(store, { sql: { value: sql } });
  const partitions = { ensure: async () => undefined, ensureCurrent: async () => undefined };
  const ledgers = createLedgers({ store: counted, partitions, now: () => start, events: true, ...options });
  /** The result of one operation, and how many statements it took outside of transactions. */
  const run = async (tenant: Tenant, operation: Operation) => {
    counts.statements = 0;
    const [result] = await ledgers.commit(tenant, [operation]);
    return [result?.ok, counts.statements];
  };
  return { ledgers, run, counts };
}

test('a ledger that another process writes is locked before it is read, for a second', async () => {
  const tenant = tenantOf('org_contended');
  let elapsedMs = 1;
  const { run } = createCounted({ elapsed: () => elapsedMs });
  await credits.others.commit(tenant, [grant(1_000)]);
  await credits.others.commit(tenant, [hold('h0')]);
  expect(await run(tenant, hold('h1'))).toEqual([true, 2]);
  expect(await run(tenant, hold('h2'))).toEqual([true, 1]);
  await credits.others.commit(tenant, [hold('h3')]);
  expect(await run(tenant, hold('h4'))).toEqual([true, 1]);
  elapsedMs = 1_000;
  expect(await run(tenant, hold('h5'))).toEqual([true, 0]);
  elapsedMs = 1_002;
  expect(await run(tenant, hold('h6'))).toEqual([true, 2]);
});

test('a batch whose ledger is locked for too long waits for the lock once, and the next one reads the ledger', async () => {
  const tenant = tenantOf('org_locked');
  const { ledgers, run, counts } = createCounted();
  await ledgers.commit(tenant, [grant(1_000)]);
  await ledgers.commit(tenant, [hold('h1')]);
  await other.query("begin; select 1 from ledgers where organization_id = 'org_locked' for update");
  await expect(run(tenant, hold('h2'))).rejects.toMatchObject({ code: 'unavailable' });
  expect(counts.statements).toBe(1);
  await other.query('rollback');
  expect(await run(tenant, hold('h2'))).toEqual([true, 2]);
});

test('a process that knows a ledger only in part reads the rest before it decides', async () => {
  const tenant = tenantOf('org_in_part');
  const { ledgers, others } = credits;
  await others.commit(tenant, [grant(100_000), { kind: 'allocate', id: 'a', userId: 'usr_a', monthlyLimit: 30, rollover: false }]);
  await others.commit(tenant, [hold('h1'), hold('h2', 'usr_b')]);
  await ledgers.commit(tenant, [hold('h3', 'usr_c')]);
  expect(await ledgers.commit(tenant, [hold('h4', 'usr_a', 25), hold('h5', 'usr_c')])).toMatchObject([
    { ok: false, code: 'user_limit_reached' },
    { ok: true },
  ]);
  await others.commit(tenant, [hold('h6', 'usr_d')]);
  await ledgers.commit(tenant, [hold('h7', 'usr_e')]);
  expect(await ledgers.commit(tenant, [{ kind: 'settle', id: 'h2', amount: 7, usage }, hold('h8', 'usr_e')])).toMatchObject([
    { ok: true, charge: 7 },
    { ok: true },
  ]);
  // The rows of the cache are older than those that the next batch reads: they do not stay beside them.
  await others.commit(tenant, [hold('h9', 'usr_e', 400)]);
  await ledgers.commit(tenant, [hold('h10', 'usr_f')]);
  expect(await ledgers.commit(tenant, [hold('h11', 'usr_e', 100)])).toMatchObject([{ ok: false, code: 'user_limit_reached' }]);
  expect(await verifyAll(credits.store)).toEqual([]);
});

test('a refused hold that is repeated gets its refusal, also when there are credits', async () => {
  const tenant = tenantOf('org_refused');
  const { ledgers } = credits;
  await ledgers.commit(tenant, [grant(5)]);
  const first = await ledgers.commit(tenant, [hold('h1')]);
  expect(first).toMatchObject([{ ok: false, code: 'credits_exhausted' }]);
  await ledgers.commit(tenant, [grant(1_000, 'g2')]);
  expect(await ledgers.commit(tenant, [hold('h1')])).toEqual(first);
});

test('only a commit with events reports them', async () => {
  const tenant = tenantOf('org_events');
  let reports = 0;
  const onEvents = () => {
    reports += 1;
  };
  const { ledgers } = createCounted({ onEvents });
  await ledgers.commit(tenant, [grant(1_000)]);
  expect(reports).toBe(1);
  await ledgers.commit(tenant, [hold('h1')]);
  expect(reports).toBe(1);
});

/** True if another transaction has locked the tenant's ledger. */
async function isLocked({ organizationId }: Tenant): Promise<boolean> {
  const { rows } = await other.query('select 1 from ledgers where organization_id = $1 for update skip locked', [organizationId]);
  return rows.length === 0;
}

/** Applies a grant in a transaction, and returns whether the ledger was locked when its rows were read. */
async function applyWatched(tenant: Tenant): Promise<boolean[]> {
  const locked: boolean[] = [];
  await credits.store.transaction(async ({ sql }) => {
    const watched: Sql = async (...parameters) => {
      if (parameters[0] === loadStatements.loadOperations) locked.push(await isLocked(tenant));
      return await sql(...parameters);
    };
    await credits.ledgers.apply(watched, tenant, grant(10, 'watched'));
  });
  return locked;
}

test('a ledger is locked before its rows are read in a transaction, also a ledger that another transaction has just created', async () => {
  const known = tenantOf('org_known');
  await credits.ledgers.commit(known, [grant(1)]);
  expect(await applyWatched(known)).toEqual([true]);

  const created = tenantOf('org_created');
  const otherSql: Sql = async (statement, values) => (await other.query(statement, [...(values ?? [])])).rows;
  await other.query('begin');
  await addLedger(otherSql, created, start);
  const applying = applyWatched(created);
  await until('the grant waits', async () => (await countLockWaits(credits.database.url)) > 0);
  await other.query('commit');
  expect(await applying).toEqual([true]);
  expect(await credits.ledgers.find(created)).toMatchObject({ issued: 10 });
});
