import { connect, createServer, type Socket } from 'node:net';
import { type OwnPostgres, ownPostgres, until } from '@agent-service/testkit';
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
  await requirePasswords();
});

afterEach(async () => {
  await source?.close();
  notices.length = 0;
  clock += 3_600_000;
});

afterAll(async () => {
  await administrator?.end();
  await server?.remove();
});

const rules = (...lines: readonly string[]) =>
  administrator.query(`
    do $$ begin execute pg_catalog.format('copy (select unnest(%L::text[])) to %L', '{${lines.join(',')}}', current_setting('hba_file')); end $$;
    select pg_reload_conf()`);
const requirePasswords = () => rules('host all postgres all trust', 'host all all all scram-sha-256');
const allowOnlyTheAccount = () => rules('host all postgres all trust');

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

async function isAllowed(user: string): Promise<boolean> {
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

test('the role logs in with its password from any worker, and a changed password is set again', async () => {
  const role = await userOf(open());
  expect(role).toMatch(/^agent_scope_/);
  await source?.close();
  expect(await userOf(open())).toBe(role);
  await administrator.query(
    `alter role "${role}" password 'another'; select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '${role}'`,
  );
  expect(await userOf(source as DataSource)).toBe(role);
  // With another password of the account its roles have other passwords.
  await source?.close();
  const url = new URL(server.url);
  url.password = 'changed';
  expect(await userOf(open(url.href))).toBe(role);
  expect(notices).toEqual([]);
});

test('where only the account may log in it is used, and the role is tried again later', async () => {
  const role = await userOf(open());
  await source?.close();
  await allowOnlyTheAccount();
  await until(async () => !(await isAllowed(role)));
  const from = open();
  for (const _ of [1, 2]) expect(await userOf(from)).toBe('postgres');
  expect(notices.map(({ reason }) => reason)).toEqual([
    'the data source refused the login of the role: pg_hba.conf must allow password logins of agent_scope_… roles',
  ]);
  await requirePasswords();
  await until(() => isAllowed(role));
  clock += 600_000;
  expect(await userOf(from)).toBe(role);
  // A refusal while the role is in use is noticed as well.
  await allowOnlyTheAccount();
  await until(async () => !(await isAllowed(role)));
  await administrator.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1', [role]);
  expect(await userOf(from)).toBe('postgres');
  await requirePasswords();
  await until(() => isAllowed(role));
});

interface Proxy {
  readonly url: string;
  /** Replies to the login of a role; undefined: the login is forwarded. */
  answer: ((socket: Socket) => void) | undefined;
  /** The user of every forwarded login; undefined: the user that the client names. */
  user: string | undefined;
  /** Messages that were forwarded to the database. */
  messages: number;
  close(): void;
}

/** A proxy before the database that forwards the account and handles roles as the test says. */
async function startProxy(url: string): Promise<Proxy> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    near.on('error', () => undefined);
    sockets.push(near);
    near.once('data', (first) => {
      if (proxy.answer && first.includes('agent_scope_')) {
        proxy.answer(near);
        return;
      }
      const far = connect(Number(port), hostname);
      far.on('error', () => undefined);
      sockets.push(far);
      far.write(proxy.user === undefined ? first : greetingOf(proxy.user));
      near.on('data', () => {
        proxy.messages += 1;
      });
      near.pipe(far).pipe(near);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const through = new URL(url);
  const address = server.address();
  through.host = `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
  const proxy: Proxy = {
    url: through.href,
    answer: undefined,
    user: undefined,
    messages: 0,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return proxy;
}

const refusing = (code: string) => (socket: Socket) => {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mno such user\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(body.length + 4, 1);
  socket.end(Buffer.concat([head, body]));
};

test.each(['08P01', 'XX000', '28P01', '3D000', '42501'])(
  'behind a pooler that does not know roles (%s) the account is used',
  async (code) => {
    const proxy = await startProxy(server.url);
    proxy.answer = refusing(code);
    const from = open(proxy.url);
    for (const _ of [1, 2]) expect(await userOf(from)).toBe('postgres');
    expect(notices.map(({ reason }) => reason)).toEqual([
      'the data source refused the login of the role: pg_hba.conf must allow password logins of agent_scope_… roles',
    ]);
    await from.close();
    proxy.close();
  },
);

function greetingOf(user: string): Buffer {
  const body = Buffer.from(`\0\0\0\0\0\0\0\0user\0${user}\0database\0postgres\0\0`);
  body.writeInt32BE(body.length, 0);
  body.writeInt32BE(3 << 16, 4);
  return body;
}

test('behind a pooler that logs in every user as the same one, the role is not used', async () => {
  const proxy = await startProxy(server.url);
  proxy.user = 'postgres';
  const from = open(proxy.url);
  for (const _ of [1, 2]) expect(await userOf(from)).toBe('postgres');
  expect(notices.map(({ reason }) => reason)).toEqual([
    'a proxy or connection pooler logged in as another account: connect to PostgreSQL directly',
  ]);
  await from.close();
  proxy.close();
});

test.each([
  ['closes the connection', (socket: Socket) => void socket.destroy()],
  ['is starting', refusing('57P03')],
  ['has no free connection', refusing('53300')],
])('a source that %s counts as unavailable, and not as one without roles', async (_, answer) => {
  const proxy = await startProxy(server.url);
  proxy.answer = answer;
  const from = open(proxy.url);
  for (const __ of [1, 2]) await expect(userOf(from)).rejects.toMatchObject({ kind: 'unavailable' });
  proxy.answer = undefined;
  expect(await userOf(from)).toMatch(/^agent_scope_/);
  expect(notices).toEqual([]);
  await from.close();
  proxy.close();
});

test('statements of an existing role need as many messages as those of the account', async () => {
  const proxy = await startProxy(server.url);
  const from = open(proxy.url);
  const { scope } = resolveScope(await from.catalog(), { tables: ['tasks'], readOnly: true });
  const within = from.within(scope);
  const costOf = async (on: Pick<DataSource, 'transaction'>) => {
    const before = proxy.messages;
    await on.transaction('read only', limits, (run) => run('select id from public.tasks'));
    return proxy.messages - before;
  };
  await costOf(from);
  await costOf(within);
  expect(await costOf(within)).toBe(await costOf(from));
  await from.close();
  proxy.close();
});

test('a stopped server is unavailable, and is used again when it has started', async () => {
  const from = open();
  const role = await userOf(from);
  await administrator.end();
  await server.stop();
  await expect(userOf(from)).rejects.toMatchObject({ kind: 'unavailable' });
  await server.start();
  administrator = new pg.Client({ connectionString: server.url });
  await administrator.connect();
  expect(await userOf(from)).toBe(role);
});
