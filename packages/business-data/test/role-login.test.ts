import { connect, createServer, type Socket } from 'node:net';
import { type OwnPostgres, ownPostgres } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import type { Limits } from '../src/database/transaction.ts';
import type { RoleNotice } from '../src/roles/roles.ts';
import { resolveScope } from '../src/scope/resolve-scope.ts';

const limits: Limits = { timeoutMs: 5_000, maxRows: 10, maxBytes: 10_000, timeZone: 'UTC' };

let server: OwnPostgres;
let administrator: pg.Client;
let clock = 0;
let source: DataSource | undefined;
const notices: RoleNotice[] = [];

beforeAll(async () => {
  server = await ownPostgres();
  administrator = new pg.Client({ connectionString: server.url });
  administrator.on('error', () => undefined);
  await administrator.connect();
  await administrator.query('create table tasks (id integer primary key)');
  await passwordsAreAsked();
}, 60_000);

afterEach(async () => {
  await source?.close();
  notices.length = 0;
  clock += 3_600_000;
});

afterAll(async () => {
  await administrator?.end();
  await server?.remove();
}, 60_000);

const rules = (...lines: readonly string[]) =>
  administrator.query(`
    do $$ begin execute pg_catalog.format('copy (select unnest(%L::text[])) to %L', '{${lines.join(',')}}', current_setting('hba_file')); end $$;
    select pg_reload_conf()`);
const passwordsAreAsked = () => rules('host all postgres all trust', 'host all all all scram-sha-256');
const onlyTheAccountIsLetIn = () => rules('host all postgres all trust');

function open(url = server.url): DataSource {
  source = createDataSource(
    { url, roles: { tenant: 'org_a live', now: () => clock } },
    { onLost: () => undefined, onNotice: (notice) => void notices.push(notice) },
  );
  return source;
}

async function userOf(from: DataSource): Promise<string> {
  const { scope } = resolveScope(await from.catalog(), { tables: ['tasks'], readOnly: true });
  const { rows } = await from.within(scope).transaction('read only', limits, (run) => run('select session_user'));
  return String(rows[0]?.[0]);
}

/** Rules are read by the server when it comes to it. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000;
  while (!(await condition())) if (performance.now() > end) throw new Error('it did not come about in time');
}

async function isLetIn(user: string): Promise<boolean> {
  const url = new URL(server.url);
  [url.username, url.password] = [user, 'not this one'];
  const client = new pg.Client({ connectionString: url.href });
  const failure = await client.connect().then(
    () => undefined,
    (cause: { code?: string }) => cause.code,
  );
  await client.end();
  return failure !== '28000';
}

test('the role logs in with its password, by any worker, and one that was given another gets it back', async () => {
  const role = await userOf(open());
  expect(role).toMatch(/^agent_scope_/);
  await source?.close();
  expect(await userOf(open())).toBe(role);
  await administrator.query(
    `alter role "${role}" password 'another'; select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '${role}'`,
  );
  expect(await userOf(source as DataSource)).toBe(role);
  // Another password of the account is another password of its roles.
  await source?.close();
  const url = new URL(server.url);
  url.password = 'changed';
  expect(await userOf(open(url.href))).toBe(role);
  expect(notices).toEqual([]);
});

test('where only the account is let in it has to do, and the role is tried again later', async () => {
  const role = await userOf(open());
  await source?.close();
  await onlyTheAccountIsLetIn();
  await until(async () => !(await isLetIn(role)));
  const from = open();
  for (const _ of [1, 2]) expect(await userOf(from)).toBe('postgres');
  expect(notices.map(({ reason }) => reason)).toEqual(['the data source does not let its roles log in']);
  await passwordsAreAsked();
  await until(() => isLetIn(role));
  clock += 600_000;
  expect(await userOf(from)).toBe(role);
  // What is refused while the role is in use is found out as well.
  await onlyTheAccountIsLetIn();
  await until(async () => !(await isLetIn(role)));
  await administrator.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1', [role]);
  expect(await userOf(from)).toBe('postgres');
  await passwordsAreAsked();
  await until(() => isLetIn(role));
});

interface Way {
  readonly url: string;
  /** What becomes of a role that wants to come in. */
  answer: ((socket: Socket) => void) | undefined;
  /** Whom it logs everybody in as. */
  user: string | undefined;
  /** How often something was asked of the database. */
  asked: number;
  close(): void;
}

/** What stands between a service and a database: lets the account through, and does with others as it likes. */
async function wayTo(url: string): Promise<Way> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  const proxy = createServer((near) => {
    near.on('error', () => undefined);
    sockets.push(near);
    near.once('data', (first) => {
      if (way.answer && first.includes('agent_scope_')) {
        way.answer(near);
        return;
      }
      const far = connect(Number(port), hostname);
      far.on('error', () => undefined);
      sockets.push(far);
      far.write(way.user === undefined ? first : greetingOf(way.user));
      near.on('data', () => {
        way.asked += 1;
      });
      near.pipe(far).pipe(near);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  const address = proxy.address();
  through.host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  const way: Way = {
    url: through.href,
    answer: undefined,
    user: undefined,
    asked: 0,
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
  return way;
}

const refusing = (code: string) => (socket: Socket) => {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mno such user\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(body.length + 4, 1);
  socket.end(Buffer.concat([head, body]));
};

test.each(['08P01', 'XX000', '28P01', '3D000', '42501'])(
  'a pooler that does not know roles (%s) is passed as the account',
  async (code) => {
    const way = await wayTo(server.url);
    way.answer = refusing(code);
    const from = open(way.url);
    for (const _ of [1, 2]) expect(await userOf(from)).toBe('postgres');
    expect(notices.map(({ reason }) => reason)).toEqual(['the data source does not let its roles log in']);
    await from.close();
    way.close();
  },
);

function greetingOf(user: string): Buffer {
  const body = Buffer.from(`\0\0\0\0\0\0\0\0user\0${user}\0database\0postgres\0\0`);
  body.writeInt32BE(body.length, 0);
  body.writeInt32BE(3 << 16, 4);
  return body;
}

test('a pooler that logs everybody in as one is not taken for roles', async () => {
  const way = await wayTo(server.url);
  way.user = 'postgres';
  const from = open(way.url);
  for (const _ of [1, 2]) expect(await userOf(from)).toBe('postgres');
  expect(notices.map(({ reason }) => reason)).toEqual(['something before the data source logs its roles in as another account']);
  await from.close();
  way.close();
});

test.each([
  ['breaks off', (socket: Socket) => void socket.destroy()],
  ['says that it is starting', refusing('57P03')],
  ['has no free connection', refusing('53300')],
])('a source that %s is away, and not one without roles', async (_, answer) => {
  const way = await wayTo(server.url);
  way.answer = answer;
  const from = open(way.url);
  for (const __ of [1, 2]) await expect(userOf(from)).rejects.toMatchObject({ kind: 'unavailable' });
  way.answer = undefined;
  expect(await userOf(from)).toMatch(/^agent_scope_/);
  expect(notices).toEqual([]);
  await from.close();
  way.close();
});

test('once a role is made its statements ask no more of the database than those of the account', async () => {
  const way = await wayTo(server.url);
  const from = open(way.url);
  const { scope } = resolveScope(await from.catalog(), { tables: ['tasks'], readOnly: true });
  const within = from.within(scope);
  const costOf = async (on: Pick<DataSource, 'transaction'>) => {
    const before = way.asked;
    await on.transaction('read only', limits, (run) => run('select id from public.tasks'));
    return way.asked - before;
  };
  await costOf(from);
  await costOf(within);
  expect(await costOf(within)).toBe(await costOf(from));
  await from.close();
  way.close();
});

test('a server that is stopped is away, whatever was made before, and found again', async () => {
  const from = open();
  const role = await userOf(from);
  await administrator.end();
  await server.stop();
  await expect(userOf(from)).rejects.toMatchObject({ kind: 'unavailable' });
  await server.start();
  administrator = new pg.Client({ connectionString: server.url });
  await administrator.connect();
  expect(await userOf(from)).toBe(role);
}, 60_000);
