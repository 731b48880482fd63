import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { createDataSource, resolveScope } from '@agent-service/business-data';
import { createClient } from '@agent-service/contracts';
import { createCipher } from '@agent-service/store';
import { freePort, type TestDatabase, testCertificate, testDatabase, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { asCaller, type BootedService, body, boot, createAgent, encryptionKeys } from './boot.ts';
import { StoredConversations } from './stored-conversations.ts';

let service: BootedService;
let business: TestDatabase;
let serial = 0;

beforeAll(async () => {
  [service, business] = await Promise.all([boot(), testDatabase()]);
  const client = new Client({ connectionString: business.url });
  await client.connect();
  await client.query(`create role "${reader()}" login password '${password}'`);
  await client.query('create table orders (id integer primary key, total numeric); create schema hr; create table hr.staff (id integer)');
  await client.query(`grant usage on schema hr to "${reader()}"; grant select on orders, hr.staff to "${reader()}"`);
  await client.end();
});
const password = 'a-word-that-nobody-may-see';
/** Named so that it goes with its database. */
const reader = () => `${new URL(business.url).pathname.slice(1)}_reader`;
const urlOf = () => {
  const url = new URL(business.url);
  [url.username, url.password] = [reader(), password];
  return url.href;
};

afterAll(async () => {
  await service?.stop();
  await business?.drop();
});

const tenant = (environment = 'live') => ({ organizationId: `org_${++serial}`, environment });
const codeOf = async (work: Promise<unknown>): Promise<unknown> =>
  await work.then(
    () => 'done',
    ({ code }: { code: string }) => code,
  );
const stored = async () => JSON.stringify((await service.database.query('select * from data_sources')).rows);

const connect = (to: { organizationId: string; environment: string }, url = urlOf(), allowSuperuser = false) =>
  service.operator.connectDataSource({ ...to, url, allowSuperuser });

test('a database that answers is connected, and everything but its password can be read', async () => {
  const mine = tenant();
  const { dataSource, tables } = await connect(mine);
  const { hostname, port, pathname, username } = new URL(urlOf());
  const expected = { ...mine, host: hostname, port: Number(port), database: pathname.slice(1), user: username, tls: 'off', version: 1 };
  expect(dataSource).toMatchObject(expected);
  expect(tables).toEqual(['hr.staff', 'orders']);
  const listed = await service.operator.listDataSources({ organizationId: mine.organizationId });
  expect(listed.dataSources).toEqual([dataSource]);
  const tested = await service.operator.testDataSource(mine);
  expect(tested).toMatchObject({ dataSource: expected, tables, serverVersion: expect.stringMatching(/^\d+/) });
  for (const text of [JSON.stringify([dataSource, listed, tested]), await stored()]) expect(text).not.toContain(password);
});

test('a URL that is not a database is refused with the reason, and the former connection stays', async () => {
  const mine = tenant();
  await connect(mine);
  const wrong = ['', 'mysql://u:p@h/d', 'postgres://h', `${urlOf()}?options=-c%20role=x`, `${urlOf()}?sslmode=sometimes`];
  for (const url of [...wrong, 'postgres://u:%zz@127.0.0.1/d'])
    expect([url, await codeOf(connect(mine, url))]).toEqual([url, 'invalid_request']);
  const away = `postgres://u:hidden-word@127.0.0.1:${await freePort()}/d`;
  const failure = await connect(mine, away).catch((cause: Error) => cause);
  expect(failure).toMatchObject({ code: 'data_source_unavailable' });
  expect(JSON.stringify([failure, (failure as Error).message])).not.toContain('hidden-word');
  expect((await service.operator.listDataSources({ organizationId: mine.organizationId })).dataSources).toMatchObject([{ version: 1 }]);
  expect(await codeOf(connect({ ...mine, environment: 'staging' }))).toBe('invalid_request');
});

test('a certificate of an own authority requires TLS, and an unreadable one is named in the error', async () => {
  const mine = tenant();
  const { cert: caCertificate } = testCertificate();
  const failure = await service.operator.connectDataSource({ ...mine, url: urlOf(), caCertificate }).catch((cause: unknown) => cause);
  // The server of this test speaks in clear only.
  expect(failure).toMatchObject({ code: 'data_source_unavailable' });
  const unreadable = service.operator.connectDataSource({ ...mine, url: urlOf(), caCertificate: 'no certificate' });
  await expect(unreadable).rejects.toMatchObject({ code: 'invalid_request', param: 'ca_certificate' });
});

test('versions only rise, also after a removal, and are separate for each tenant', async () => {
  const [mine, other] = [tenant(), tenant('test')];
  await connect(mine);
  expect((await connect(mine)).dataSource?.version).toBe(2);
  expect(await service.operator.removeDataSource(mine)).toEqual({ removed: true });
  expect(await service.operator.removeDataSource(mine)).toEqual({ removed: false });
  expect((await service.operator.listDataSources({ organizationId: mine.organizationId })).dataSources).toEqual([]);
  expect(await codeOf(service.operator.testDataSource(mine))).toBe('not_found');
  expect(
    (await service.database.query('select url_sealed from data_sources where organization_id = $1', [mine.organizationId])).rows,
  ).toEqual([{ url_sealed: null }]);
  expect((await connect(mine)).dataSource?.version).toBe(4);
  expect((await service.operator.listDataSources({ organizationId: other.organizationId })).dataSources).toEqual([]);
  expect(await codeOf(service.operator.testDataSource({ ...mine, environment: 'test' }))).toBe('not_found');
});

test('roles of its scopes stay while a data source leads to the same database, and go with it', async () => {
  const mine = tenant();
  const roles = { tenant: `${mine.organizationId} ${mine.environment}` };
  const source = createDataSource({ url: business.url, roles }, () => undefined);
  const { scope } = resolveScope(await source.catalog(), { tables: ['orders(id)'], readOnly: true });
  const limits = { timeoutMs: 5_000, maxRows: 1, maxBytes: 1_000, timeZone: 'UTC' };
  const { rows } = await source.within(scope).transaction('read only', limits, (run) => run('select session_user'));
  await source.close();
  const role = rows[0]?.[0];
  const exists = async () => (await service.database.query('select 1 from pg_roles where rolname = $1', [role])).rows.length === 1;
  expect([String(role).startsWith('agent_scope_'), await exists()]).toEqual([true, true]);
  await connect(mine, business.url, true);
  await connect(mine, business.url, true);
  await service.operator.testDataSource(mine);
  expect(await exists()).toBe(true);
  await service.operator.removeDataSource(mine);
  await until('the role is dropped', async () => !(await exists()));
});

test('an account with power over its server is refused, unless it is allowed, and the answer says if scopes can have roles', async () => {
  const mine = tenant();
  const client = new Client({ connectionString: business.url });
  await client.connect();
  const refusal = async () =>
    await connect(mine).then(
      () => 'connected',
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  try {
    await expect(connect(mine, business.url)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('is a superuser'),
    });
    for (const power of ['pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program']) {
      await client.query(`grant ${power} to "${reader()}"`);
      expect(await refusal()).toContain(`invalid_request: The account of the data source is a member of ${power}.`);
      await client.query(`revoke ${power} from "${reader()}"`);
    }
    const between = `${reader()}_between`;
    await client.query(`create role "${between}" superuser; grant "${between}" to "${reader()}"; alter role "${reader()}" noinherit`);
    expect(await refusal()).toContain('is a member of a superuser');
    await client.query(`alter role "${between}" nosuperuser; grant pg_read_server_files to "${between}"`);
    expect(await refusal()).toContain('is a member of pg_read_server_files');
    await client.query(`drop role "${between}"; alter role "${reader()}" inherit`);
    expect((await connect(mine)).roleGate).toEqual({ active: false, reason: 'the account cannot make roles' });
    await client.query(`alter role "${reader()}" createrole`);
    expect((await connect(mine)).roleGate).toEqual({ active: true, reason: '' });
    await client.query('alter table orders enable row level security');
    expect((await connect(mine)).roleGate).toEqual({ active: true, reason: expect.stringContaining('different rows: public.orders') });
    await client.query(`alter table orders disable row level security; alter role "${reader()}" nocreaterole superuser`);
    await until(
      'the account that became a superuser later is refused',
      async () => (await codeOf(service.operator.testDataSource(mine))) === 'invalid_request',
    );
    expect((await connect(mine, undefined, true)).tables).toContain('orders');
    expect((await service.operator.testDataSource(mine)).tables).toContain('orders');
  } finally {
    await client.query(`alter role "${reader()}" nosuperuser nocreaterole inherit; alter table orders disable row level security`);
    await client.end();
  }
});

test('a connection to another host must name its encryption', async () => {
  const mine = tenant();
  await expect(connect(mine, 'postgres://reader:secret@db.invalid/erp')).rejects.toMatchObject({
    code: 'invalid_request',
    message: expect.stringContaining('sslmode'),
  });
  expect(await codeOf(connect(mine, 'postgres://reader:secret@db.invalid/erp?sslmode=require'))).toBe('data_source_unavailable');
});

test('each change of a connection is in the audit log, without its password', async () => {
  const mine = tenant();
  await connect(mine);
  await service.operator.removeDataSource(mine);
  const { rows } = await service.database.query<{ text: string }>('select payload::text as text from outbox order by 1');
  const entries = rows.filter(({ text }) => text.includes(mine.organizationId)).map(({ text }) => text);
  expect(entries.filter((text) => text.includes('data_source.connected'))).toHaveLength(1);
  expect(entries.filter((text) => text.includes('data_source.removed'))).toHaveLength(1);
  expect(entries.join()).not.toContain(password);
});

test('the URL is sealed for its tenant alone, and opens under older keys', async () => {
  const mine = tenant();
  await connect(mine);
  const { rows } = await service.database.query<{ url_sealed: string }>('select url_sealed from data_sources where organization_id = $1', [
    mine.organizationId,
  ]);
  const sealed = rows[0]?.url_sealed ?? '';
  const key = Buffer.from(encryptionKeys.slice(2), 'base64');
  const rotated = createCipher(
    new Map([
      [1, key],
      [2, randomBytes(32)],
    ]),
  );
  expect(rotated.decrypt(sealed, `data_sources ${mine.organizationId} live url`)).toBe(JSON.stringify({ url: urlOf(), ca: '' }));
  expect(() => rotated.decrypt(sealed, `data_sources ${mine.organizationId} test url`)).toThrow();
});

test('only operators connect, and only the worker of a running answer gets the URL', async () => {
  const mine = tenant();
  const url = urlOf();
  expect(await codeOf(service.gateway.connectDataSource({ ...mine, url }))).toBe('service_forbidden');
  expect(await codeOf(service.worker.listDataSources(mine))).toBe('service_forbidden');
  const answer = { answer: { ...mine, answerId: 'msg_none' }, attempt: 1 };
  expect(await codeOf(service.operator.getDataSource({ answer }))).toBe('service_forbidden');
  expect(await codeOf(service.worker.getDataSource({ answer }))).toBe('attempt_superseded');
});

test('an agent’s tables are those of the connected database', async () => {
  const mine = tenant();
  const caller = { organizationId: mine.organizationId };
  const make = (tables: string[]) => asCaller(caller, () => service.gateway.createAgent(body({ dataScope: { tables, readOnly: true } })));
  const anything = await make(['whatever']);
  await connect(mine);
  await make(['orders', 'orders(id)', 'hr.staff']);
  await expect(make(['orders', 'whatever'])).rejects.toMatchObject({ code: 'invalid_request', param: 'data_scope.tables[1]' });
  // A repeat of a request whose tables have gone since gets the agent that it made.
  const key = { scope: 'tables-gone', fingerprint: 'f' };
  const once = (table: string) => asCaller(caller, () => service.gateway.createAgent(body({ dataScope: { tables: [table] } })), key);
  expect(await once('orders')).toEqual(await once('whatever'));
  const agentId = anything.agent?.id ?? '';
  const change = (tables: string[]) =>
    asCaller(caller, () => service.gateway.updateAgent({ agentId, dataScope: { tables: { values: tables } } }));
  await expect(change(['orders(nothing)', 'orders'])).rejects.toMatchObject({ param: 'data_scope.tables[0]' });
  await asCaller(caller, () => service.gateway.updateAgent({ agentId, name: 'Renamed' }));
});

/** Takes connections and says nothing. */
async function silence(): Promise<{ server: Server; url: string }> {
  const server = createServer((socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, url: `postgres://u:p@127.0.0.1:${(server.address() as { port: number }).port}/d` };
}

test('while the database is unavailable or silent an agent can be edited within the deadline of the call', async () => {
  const mine = tenant();
  await connect(mine);
  const templates = createClient('agents', {
    address: service.address,
    as: 'templates',
    config: { SERVICE_SECRET: ['a-service-secret-that-is-long-enough'] },
  });
  const caller = { organizationId: mine.organizationId, scopes: ['templates:write'] };
  const activate = (templateId: string) =>
    asCaller(caller, () => templates.activateTemplateAgent({ templateId, definition: body(), requiredTables: ['orders'] }));
  await activate('tpl_1');
  const { server, url } = await silence();
  const sealed = createCipher(new Map([[1, Buffer.from(encryptionKeys.slice(2), 'base64')]])).encrypt(
    JSON.stringify({ url, ca: '' }),
    `data_sources ${mine.organizationId} live url`,
  );
  await service.database.query('update data_sources set url_sealed = $1 where organization_id = $2', [sealed, mine.organizationId]);
  await createAgent(service.gateway, { dataScope: { tables: ['whatever'], readOnly: true } }, { organizationId: mine.organizationId });
  // Otherwise an agent of a template would be made for tables that may be missing.
  expect([await codeOf(activate('tpl_2')), await codeOf(activate('tpl_1'))]).toEqual(['unavailable', 'template_already_activated']);
  templates.close();
  server.close();
});

/** An answer that is being worked on, in its second attempt. */
async function runningAnswer(readOnly: boolean) {
  const mine = { organizationId: `org_${++serial}`, environment: 'live' as const };
  const agentId = await createAgent(service.gateway, { dataScope: { tables: ['orders(id)'], readOnly } }, mine);
  await asCaller(mine, () => service.gateway.updateAgent({ agentId, status: 'active' }));
  const talk = new StoredConversations(service.database, { ...mine, agentId, userId: 'usr_1' });
  const answerId = await talk.ask(await talk.begin(Date.now()), Date.now());
  await service.database.query('update answers set attempt = 2 where id = $1', [answerId]);
  const attempt = (number = 2) => ({ answer: { ...mine, answerId }, attempt: number });
  const claim = (step: number, number = 2) =>
    service.worker.authorizeStep({ answer: attempt(number), step, kind: 'change', description: 'update orders (1 row)' });
  return { mine, agentId, answerId, attempt, claim };
}

test('a step gets the present scope of the agent, and an older attempt is refused', async () => {
  const { mine, agentId, attempt } = await runningAnswer(true);
  const read = (number?: number) => service.worker.authorizeStep({ answer: attempt(number), step: 0, kind: 'read' });
  expect(await read()).toEqual({ dataScope: { tables: ['orders(id)'], readOnly: true }, sourceVersion: 0 });
  await connect(mine);
  await asCaller(mine, () => service.gateway.updateAgent({ agentId, dataScope: { tables: { values: ['hr.staff'] } } }));
  expect(await read()).toEqual({ dataScope: { tables: ['hr.staff'], readOnly: true }, sourceVersion: 1 });
  const reached = { url: urlOf(), caCertificate: '', version: 1, allowSuperuser: false, guarded: false };
  expect(await service.worker.getDataSource({ answer: attempt() })).toEqual(reached);
  for (const number of [1, 3]) expect(await codeOf(read(number))).toBe('attempt_superseded');
  await service.operator.removeDataSource(mine);
  expect(await read()).toMatchObject({ sourceVersion: 0 });
  await asCaller(mine, () => service.gateway.deleteAgent({ agentId }));
  expect(await codeOf(read())).toBe('attempt_superseded');
});

test('a change is claimed by one attempt only, asked for again as often as needed, and audited once', async () => {
  const { mine, attempt, answerId, claim } = await runningAnswer(false);
  await Promise.all([claim(1), claim(1), claim(1)]);
  await claim(2);
  const finish = (step: number, undone = false) => service.worker.finishStep({ answer: attempt(), step, rows: undone ? 0 : 3, undone });
  await finish(2, true);
  await Promise.all([finish(1), finish(1)]);
  expect(await codeOf(claim(1))).toBe('change_unfinished');
  await service.database.query('update answers set attempt = 3 where id = $1', [answerId]);
  expect(await codeOf(claim(1, 3))).toBe('change_unfinished');
  expect(await codeOf(claim(2, 2))).toBe('attempt_superseded');
  const { rows } = await service.database.query<{ text: string }>('select payload::text as text from outbox');
  const audited = rows.filter(({ text }) => text.includes(mine.organizationId) && text.includes('business_data.changed'));
  expect(audited).toHaveLength(1);
  expect(audited[0]?.text).toContain('update orders (1 row)');
});

test('an inactive agent may read on, and claims no change until it is active again', async () => {
  const { mine, agentId, attempt, claim } = await runningAnswer(false);
  const become = (status: string) => asCaller(mine, () => service.gateway.updateAgent({ agentId, status }));
  await become('inactive');
  expect(await codeOf(claim(1))).toBe('invalid_request');
  expect(await codeOf(service.worker.authorizeStep({ answer: attempt(), step: 0, kind: 'read' }))).toBe('done');
  const { rows } = await service.database.query('select 1 from answer_steps where answer_id = $1', [attempt().answer.answerId]);
  expect(rows).toEqual([]);
  await become('active');
  await claim(1);
});

test('an agent that may only read claims nothing', async () => {
  const { attempt, claim } = await runningAnswer(true);
  expect(await codeOf(claim(1))).toBe('invalid_request');
  const { rows } = await service.database.query('select 1 from answer_steps where answer_id = $1', [attempt().answer.answerId]);
  expect(rows).toEqual([]);
});

test('callers who write data scopes see the tables page by page, and never how the database is reached', async () => {
  const mine = tenant();
  const describeAs = (scopes: string[], page = { limit: 50, cursor: '' }, environment = mine.environment) =>
    asCaller({ organizationId: mine.organizationId, environment: environment as 'live', scopes }, () =>
      service.gateway.describeDataSource({ page }),
    );
  expect(await describeAs(['agents:write'])).toMatchObject({ status: 'none', tables: [], page: { total: '0', nextCursor: '' } });
  await connect(mine);
  const first = await describeAs(['agents:write'], { limit: 1, cursor: '' });
  expect(first).toMatchObject({ status: 'connected', reason: '', roleGate: { active: false }, page: { total: '2' } });
  expect(first.tables).toMatchObject([{ name: 'hr.staff', schema: 'hr', kind: 'table' }]);
  const second = await describeAs(['agents:write'], { limit: 1, cursor: first.page?.nextCursor ?? '' });
  expect(second.tables).toMatchObject([
    {
      name: 'orders',
      columns: [
        { name: 'id', type: 'integer', nullable: false, primaryKey: true },
        { name: 'total', type: 'numeric', nullable: true, primaryKey: false },
      ],
    },
  ]);
  expect(second.page?.nextCursor).toBe('');
  for (const secret of [password, reader(), '127.0.0.1']) expect(JSON.stringify([first, second])).not.toContain(secret);
  expect(await codeOf(describeAs(['agents:read', 'agents:chat']))).toBe('insufficient_scope');
  expect(await describeAs(['agents:write'], undefined, 'test')).toMatchObject({ status: 'none' });
  await service.database.query(`update data_sources set url_sealed = 'x' where organization_id = $1`, [mine.organizationId]);
  const unreadable = await describeAs(['agents:write']);
  expect(unreadable).toMatchObject({ status: 'unreadable', tables: [], roleGate: null });
  expect(unreadable.reason).toContain('data-source test');
});

test('of a database with thousands of tables and long comments each page is bounded, and all pages together have each table once', async () => {
  const client = new Client({ connectionString: business.url });
  await client.connect();
  await client.query(`create schema many; grant usage on schema many to "${reader()}"`);
  await client.query(`do $$ begin for n in 1..300 loop
    execute format('create table many.t%s (%s)', lpad(n::text, 4, '0'), (select string_agg(format('c%s text', c), ', ') from generate_series(1, 40) c));
  end loop; end $$`);
  await client.query(
    `do $$ begin for c in 1..40 loop execute format('comment on column many.t0001.c%s is %L', c, repeat('long ', 10000)); end loop; end $$`,
  );
  await client.query(`grant select on all tables in schema many to "${reader()}"`);
  const mine = tenant();
  await connect(mine);
  const names: string[] = [];
  let [cursor, pages] = ['', 0];
  do {
    const answer = await asCaller({ organizationId: mine.organizationId, scopes: ['agents:write'] }, () =>
      service.gateway.describeDataSource({ page: { limit: 200, cursor } }),
    );
    expect(JSON.stringify(answer).length).toBeLessThan(1_200_000);
    names.push(...answer.tables.map(({ name }) => name));
    cursor = answer.page?.nextCursor ?? '';
    pages += 1;
  } while (cursor !== '' && pages < 20);
  expect(names.length).toBe(302);
  expect(new Set(names).size).toBe(302);
  await client.query('drop schema many cascade');
  await client.end();
});
