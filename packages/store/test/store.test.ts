import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { type Call, ServiceError } from '@agent-service/contracts';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { type TestDatabase, testDatabase, until, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, type Pool, type PoolClient } from 'pg';
import { defineEntity, p } from '../src/entities.ts';
import { createMonthPartitions, migrate, migration, type NamedMigration, once, openStore, type Sql, type Store } from '../src/index.ts';

const settings = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const;
const steps: NamedMigration[] = [
  migration('0001', 'create table things (id text primary key)'),
  // A concurrent index waits for the snapshots of other sessions, those of waiting replicas among them.
  {
    ...migration('0002', 'alter table things add size integer'),
    preparation: ['create index concurrently if not exists by_id on things (id)'],
  },
];
const Thing = defineEntity({ name: 'Thing', tableName: 'things', properties: { id: p.text().primary() } });

let database: TestDatabase;
let running: RunningProcess<Store>;
let store: Store;

beforeAll(async () => {
  database = await testDatabase();
  running = await createProcess('test', settings, async (process) => {
    await Promise.all(Array.from({ length: 4 }, () => migrate({ url: database.url, schema: 'things', migrations: steps })));
    return openStore(process, { DATABASE_URL: database.url, DATABASE_POOL_MAX: 5 }, { schema: 'things', entities: [] });
  });
  store = running.started;
});

afterAll(async () => {
  await running.stop();
  await database.drop();
});

describe('migrations', () => {
  test('replicas that start at the same time run each step once', async () => {
    expect(await store.sql('select name from migrations order by id')).toEqual([{ name: '0001' }, { name: '0002' }]);
    expect(await migrate({ url: database.url, schema: 'things', migrations: steps })).toEqual([]);
  });

  test('a failed step changes nothing', async () => {
    const failing = migration('0003', 'create table left_over (id text)', 'select 1 / 0');
    await expect(migrate({ url: database.url, schema: 'things', migrations: [...steps, failing] })).rejects.toThrow('division by zero');
    expect(await store.sql("select 1 from pg_tables where tablename = 'left_over'")).toEqual([]);
  });

  test('a migration that loses the session with its lock fails, and the process goes on', async () => {
    const endSession = `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'agent-service migrations lost'`;
    const migrations = [migration('0001', endSession), migration('0002', 'create table after_it (id text)')];
    await expect(migrate({ url: database.url, schema: 'lost', migrations })).rejects.toThrow(/connection/i);
    expect(await migrate({ url: database.url, schema: 'lost', migrations })).toEqual(['0002']);
  });
});

describe('a step on a table that other sessions use', () => {
  const rows = 300_000;
  const schema = 'large';
  const first = migration('0001', 'create table entries (id integer primary key, at timestamptz not null default now())');
  // As tables are partitioned by month: the old table becomes a partition, and nothing is copied.
  const attach: NamedMigration = {
    ...migration(
      '0002',
      `alter table entries rename to entries_old;
       create table entries (id integer, at timestamptz not null default now(), constraint entries_key unique (id, at)) partition by range (at);
       alter table entries attach partition entries_old for values from (minvalue) to ('2100-01-01 00:00:00+00')`,
    ),
    preparation: [
      'drop index concurrently if exists entries_old_key',
      'create unique index concurrently entries_old_key on entries (id, at)',
      'alter table entries drop constraint if exists entries_old_key, add constraint entries_old_key unique using index entries_old_key',
    ],
  };

  test('waits for its lock briefly and often, so that writers are not blocked, and copies no row', async () => {
    const url = database.url;
    await migrate({ url, schema, migrations: [first] });
    await store.sql(`insert into ${schema}.entries (id) select generate_series(1, ${rows})`);
    const [before] = await store.sql(`select relfilenode from pg_class where oid = '${schema}.entries'::regclass`);
    const reader = new Client({ connectionString: url });
    await reader.connect();
    await reader.query(`begin; select 1 from ${schema}.entries limit 1`);
    let isDone = false;
    const migrating = migrate({ url, schema, migrations: [first, attach], lockLimitMs: 50 }).finally(() => (isDone = true));
    for (let id = rows + 1; id <= rows + 20; id += 1) await store.sql(`insert into ${schema}.entries (id) values ($1)`, [id]);
    expect(isDone).toBe(false);
    await reader.end();
    expect(await migrating).toEqual(['0002']);
    const [{ count } = { count: 0 }] = await store.sql<{ count: number }>(`select count(*)::int from ${schema}.entries`);
    expect(count).toBe(rows + 20);
    expect(await store.sql(`select relfilenode from pg_class where oid = '${schema}.entries_old'::regclass`)).toEqual([before]);
    const indexes = await store.sql(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'large.entries_key'::regclass",
    );
    expect(indexes).toEqual([{ name: 'large.entries_old_key' }]);
  });

  test('fails with its own error and is not repeated for a lock', async () => {
    const failing = { ...migration('0003', 'select 1'), preparation: ['select 1 / 0'] };
    await expect(migrate({ url: database.url, schema, migrations: [first, attach, failing] })).rejects.toThrow('division by zero');
  });
});

describe('partitions by month', () => {
  const [october, november] = [Date.UTC(2026, 9, 15), Date.UTC(2026, 10, 1)];
  const minute = 60_000;
  const partitionNames = async () =>
    (await store.sql<{ name: string }>(`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'usage'::regclass`))
      .map(({ name }) => name)
      .sort();
  let elapsed = 1;
  const lookUps: Promise<unknown>[] = [];
  let answer = Promise.resolve();
  const counting: Store['sql'] = <Row extends object>(text: string, values?: readonly unknown[]) => {
    const lookUp = answer.then(() => store.sql<Row>(text, values));
    lookUps.push(lookUp);
    return lookUp;
  };
  const makePartitions = () => createMonthPartitions({ ...store, sql: counting }, 'usage', { before: 0, after: 1 }, () => elapsed);

  beforeAll(() => store.sql('create table usage (at timestamptz not null) partition by range (at)'));

  test('that a failover has undone are made again within a minute', async () => {
    const partitions = makePartitions();
    await partitions.ensure(october);
    expect(await partitionNames()).toEqual(['usage_2026_10', 'usage_2026_11']);
    for (const ensure of [() => partitions.ensure(october), () => partitions.ensureCurrent(november)]) {
      await store.sql('drop table usage_2026_11');
      elapsed += minute + 1;
      await ensure();
      await until('it is made again', async () => (await partitionNames()).length === 2);
    }
  });

  test('are looked up once in a minute for any number of callers', async () => {
    const partitions = makePartitions();
    const ensureManyTimes = () => Promise.all(Array.from({ length: 50 }, () => partitions.ensureCurrent(october)));
    lookUps.length = 0;
    for (let time = 0; time < 3; time += 1) {
      await ensureManyTimes();
      await Promise.all(lookUps);
      await setImmediate();
      await ensureManyTimes();
      elapsed += minute - 1;
      await ensureManyTimes();
      elapsed += 2;
    }
    expect(lookUps).toHaveLength(3);
  });

  test('hold up no caller while they are looked up again, as over a connection that is lost', async () => {
    const partitions = makePartitions();
    await partitions.ensureCurrent(october);
    const { promise, resolve } = Promise.withResolvers<void>();
    answer = promise;
    elapsed += minute + 1;
    await partitions.ensureCurrent(october);
    resolve();
  });

  test('are looked up also while the partition of a different month is locked', async () => {
    const partitions = makePartitions();
    await withDatabase(database.url, async (client) => {
      await client.query('begin; lock table things.usage_2026_10 in access exclusive mode');
      await partitions.ensureCurrent(november);
    });
  });

  test('are looked up again after a look-up that failed', async () => {
    const partitions = makePartitions();
    await store.sql('alter table usage rename to usage_away');
    const failing = await Promise.allSettled([partitions.ensureCurrent(october), partitions.ensureCurrent(october)]);
    expect(failing.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await store.sql('alter table usage_away rename to usage');
    await partitions.ensureCurrent(october);
  });
});

describe('a failed statement of the pool', () => {
  const backend = async () => (await store.sql<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid;

  test('returns its connection to the pool if it failed by its own fault', async () => {
    await store.sql('insert into things (id) values ($1)', ['there']);
    const failing: [string, unknown[]][] = [
      ['insert into things (id) values ($1)', ['there']],
      ['select 1 / $1::integer as quotient', [0]],
      ["select set_config('statement_timeout', '20', false)", []],
      ['select pg_sleep(20)', []],
      ["select set_config('statement_timeout', '10000', false)", []],
    ];
    const before = await backend();
    for (const [statement, values] of failing) await store.sql(statement, values).catch(() => undefined);
    expect(await backend()).toBe(before);
    await store.transaction(async ({ sql }) => {
      const other = await backend();
      await sql('select 1 from things where id = $1 for update', ['there']);
      await expect(store.sql('select 1 from things for update nowait')).rejects.toMatchObject({ code: 'unavailable' });
      expect(await backend()).toBe(other);
    });
    await store.sql('delete from things');
  });

  test('removes its connection from the pool if that is lost', async () => {
    const before = await backend();
    await expect(store.sql('select pg_terminate_backend(pg_backend_pid())')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await backend()).not.toBe(before);
    await expect(store.sql('select * from missing')).rejects.toThrow('missing');
    expect(await store.sql('select 1 as one')).toEqual([{ one: 1 }]);
  });
});

/** A role without rights beyond its own log-in, and a connection of the administrator's to another database of the server. */
async function ownRole() {
  const role = `things_${randomBytes(6).toString('hex')}`;
  const own = new URL(database.url);
  const name = own.pathname.slice(1);
  const elsewhere = new URL(database.url);
  elsewhere.pathname = '/postgres';
  const administrate = (statement: string) => withDatabase(elsewhere.href, (client) => client.query(statement));
  await administrate(`create role ${role} login password 'role'`);
  own.username = role;
  own.password = 'role';
  return { role, database: name, url: own.href, administrate, remove: () => administrate(`drop role ${role}`) };
}

/** Lets the server end the session of this transaction, as when the process stands still. */
async function waitUntilSessionEnded(sql: Sql): Promise<void> {
  const [session] = await sql<{ pid: number }>(
    "select pg_backend_pid() as pid, set_config('idle_in_transaction_session_timeout', '1', true)",
  );
  await until(
    'the session has ended',
    async () => (await store.sql('select 1 from pg_stat_activity where pid = $1', [session?.pid])).length === 0,
  );
}

describe('transactions', () => {
  test('work that throws is rolled back', async () => {
    const work = store.transaction(async ({ sql }) => {
      await sql('insert into things (id) values ($1)', ['undone']);
      throw new Error('rolled back');
    });
    await expect(work).rejects.toThrow('rolled back');
    expect(await store.sql('select 1 from things where id = $1', ['undone'])).toEqual([]);
  });

  // macOS has no such limit of a connection.
  const onLinux = process.platform === 'linux' ? test : test.skip;

  onLinux('a statement whose large result a frozen process does not read is ended by the database, with its locks', async () => {
    const pool = (await store.orm.em.getConnection().getNativeClient()) as Pool;
    const frozen = (await pool.connect()) as PoolClient & { connection: { stream: Socket } };
    expect((await frozen.query('show tcp_user_timeout')).rows).toEqual([{ tcp_user_timeout: '5000' }]);
    await frozen.query('set tcp_user_timeout = 300');
    await store.sql('insert into things (id) values ($1)', ['unread']);
    const locking = `with locked as materialized (select id from things where id = 'unread' for update) select repeat('x', 100000000) from locked`;
    const outcome = frozen.query(locking).catch((cause: unknown) => cause);
    frozen.connection.stream.pause();
    const free = () => store.sql('select 1 from things where id = $1 for update skip locked', ['unread']);
    await until('the row is locked', async () => (await free()).length === 0);
    await until('the lock is free', async () => (await free()).length > 0);
    frozen.connection.stream.resume();
    expect(await outcome).toHaveProperty('message');
    frozen.release(true);
    await store.sql('delete from things');
  });

  test('a transaction of a frozen process is ended by the database, so that its locks block others for one second only', async () => {
    const resume = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const stuck = store.transaction(async ({ sql }) => {
      await sql('insert into things (id) values ($1)', ['contended']);
      locked.resolve();
      await resume.promise;
      await sql('select 1');
    });
    await locked.promise;
    await store.sql('insert into things (id) values ($1)', ['contended']);
    resume.resolve();
    await expect(stuck).rejects.toMatchObject({ code: 'unavailable' });
    expect(await store.sql('select id from things')).toEqual([{ id: 'contended' }]);
    await store.sql('delete from things');
  });

  test.each([
    { mayRepeat: false, runs: 1, outcome: 'unavailable' },
    { mayRepeat: true, runs: 2, outcome: 'stored' },
  ])('work during which the process stands still runs again where it may: $mayRepeat', async ({ mayRepeat, runs, outcome }) => {
    const id = `paused ${mayRepeat}`;
    let count = 0;
    const work = store.transaction(
      async ({ sql }) => {
        count += 1;
        await sql('insert into things (id) values ($1)', [id]);
        if (count === 1) await waitUntilSessionEnded(sql);
        await sql('select 1');
        return 'stored';
      },
      { mayRepeat },
    );
    expect(await work.catch((cause: ServiceError) => cause.code)).toBe(outcome);
    expect([count, await store.sql('select id from things where id = $1', [id])]).toEqual([runs, mayRepeat ? [{ id }] : []]);
  });

  test("an effect that ends after its caller's deadline is rolled back", async () => {
    const { signal } = new AbortController();
    const late = { signal, checkDeadline: () => expired.throwIfAborted() } as unknown as Call;
    const expired = AbortSignal.abort(new ServiceError('deadline_exceeded'));
    const effect = once(store, late, async ({ sql }) => ({ rows: await sql('insert into things (id) values ($1)', ['late']) }));
    await expect(effect).rejects.toMatchObject({ code: 'deadline_exceeded' });
    expect(await store.sql('select 1 from things where id = $1', ['late'])).toEqual([]);
  });

  test('a statement that takes too long fails with unavailable', async () => {
    const work = store.transaction(async ({ sql }) => {
      await sql('set local statement_timeout = 50');
      await sql('select pg_sleep(20)');
    });
    await expect(work).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('a statement may take longer than usual where its transaction says so, and the connection can be used afterwards', async () => {
    const { started, stop } = await createProcess('other', settings, (process) =>
      openStore(process, { DATABASE_URL: database.url, DATABASE_POOL_MAX: 1 }, { schema: 'things', entities: [] }),
    );
    const pool = (await started.orm.em.getConnection().getNativeClient()) as Pool;
    const limitUsual = (query_timeout: number) =>
      void pool.once('acquire', (client) => Object.assign(client, { connectionParameters: { query_timeout } }));
    const sleep = (seconds: number, options?: { statementLimitMs: number }) =>
      started.transaction(async ({ sql, em }) => {
        await em.execute('select pg_sleep(?)', [seconds]);
        await sql('select pg_sleep($1)', [seconds]);
        return await sql('select pg_backend_pid() as pid');
      }, options);
    const before = await sleep(0);
    limitUsual(200);
    expect(await sleep(0.3, { statementLimitMs: 10_000 })).toEqual(before);
    limitUsual(10_000);
    await expect(sleep(20, { statementLimitMs: 50 })).rejects.toMatchObject({ code: 'unavailable', cause: { code: '57014' } });
    expect(await sleep(0)).toEqual(before);
    limitUsual(200);
    await expect(sleep(0.3)).rejects.toMatchObject({ code: 'unavailable', cause: { message: 'Query read timeout' } });
    await stop();
  });

  test('a store whose role is missing does not open, and says why', async () => {
    const missing = new URL(database.url);
    missing.username = 'missing_role';
    const opening = createProcess('other', settings, (process) =>
      openStore(process, { DATABASE_URL: missing.href, DATABASE_POOL_MAX: 2 }, { schema: 'things', entities: [] }),
    );
    await expect(opening).rejects.toThrow('role "missing_role" does not exist');
  });

  test.each([
    ['a role that may not log in', 'alter role %I nologin', 'alter role %I login'],
    ['a database that accepts no connections', 'alter database %D allow_connections false', 'alter database %D allow_connections true'],
  ])('%s is unavailable until it is restored, without a restart', async (_, away, back) => {
    const { database: name, url, role, administrate, remove } = await ownRole();
    const onServer = (statement: string) => administrate(statement.replace('%I', role).replace('%D', name));
    const other = await createProcess('other', settings, (process) =>
      openStore(process, { DATABASE_URL: url, DATABASE_POOL_MAX: 2 }, { schema: 'things', entities: [Thing] }),
    );
    try {
      await onServer(away);
      await administrate(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
      await until('its session has ended', async () => (await other.started.sql('select 1').catch(() => [])).length === 0);
      const { sql, transaction, read } = other.started;
      const works = [() => sql('select 1'), () => transaction((own) => own.sql('select 1')), () => read((em) => em.find(Thing, {}))];
      for (const work of works) expect(ServiceError.from(await work().catch((cause: unknown) => cause)).code).toBe('unavailable');
      await onServer(back);
      expect(await other.started.sql('select 1 as one')).toEqual([{ one: 1 }]);
    } finally {
      await onServer(back);
      await other.stop();
      await remove();
    }
  });

  test('each lost connection fails with unavailable and is replaced, so that the pool never runs out', async () => {
    for (let round = 0; round < 12; round += 1) {
      const work = store.transaction(({ sql }) => sql('select pg_terminate_backend(pg_backend_pid())'));
      await expect(work).rejects.toMatchObject({ code: 'unavailable' });
    }
    expect(await store.transaction(({ sql }) => sql('select 1 as one'))).toEqual([{ one: 1 }]);
  });
});
