// A long form: npm run test:long -- databases
import { ServiceError } from '@agent-service/contracts';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { type PostgresPair, postgresPair, until, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { migrate, migration, openStore, type Store } from '../src/index.ts';
import { withRole } from '../src/servers/database-url.ts';

const long = process.env['DATABASES'] === 'long' ? describe : describe.skip;

const settings = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const;
const schema = 'replicated';

long('a synchronous standby that does not confirm', () => {
  let pair: PostgresPair;
  let running: RunningProcess<Store>;

  beforeAll(async () => {
    pair = await postgresPair();
    await migrate({ url: pair.url, schema, migrations: [migration('0001', 'create table things (id text primary key)')] });
    running = await createProcess('test', settings, (process) =>
      openStore(process, { DATABASE_URL: pair.url, DATABASE_POOL_MAX: 5 }, { schema, entities: [] }),
    );
  });
  afterAll(async () => {
    await running?.stop();
    await pair?.remove();
  });

  test('makes a commit fail whose wait was cancelled, which the server reports as made', async () => {
    const { sql, transaction } = running.started;
    const insert = 'insert into things (id) values ($1)';
    await sql(insert, ['confirmed']);
    pair.freezeStandby();
    const ending = Promise.allSettled([sql(insert, ['statement']), transaction((own) => own.sql(insert, ['transaction']))]);
    await withDatabase(pair.primaryUrl, async (client) => {
      const cancel = `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`;
      let isEnded = false;
      void ending.then(() => (isEnded = true));
      await until('both waits were cancelled', async () => (await client.query(cancel)) && isEnded);
    });
    const unconfirmed = await ending;
    pair.thawStandby();
    const reasons = unconfirmed.map((outcome) => outcome.status === 'rejected' && ServiceError.from(outcome.reason));
    expect(reasons.map((reason) => reason && [reason.code, String(reason.cause)])).toEqual([
      ['unavailable', 'Error: the commit was not confirmed by the standby'],
      ['unavailable', 'Error: the commit was not confirmed by the standby'],
    ]);
    await sql(insert, ['confirmed again']);
  });

  test('a role gets another password while its service works: no statement fails', async () => {
    const role = 'rotated';
    const alter = (password: string) => `alter role ${role} login password '${password}'`;
    await withDatabase(pair.primaryUrl, (client) =>
      client.query(`create role ${role}; ${alter('old')}; create schema rotated authorization ${role}`),
    );
    const url = ['old', 'new'].map((password) => withRole(pair.url, role, password)).join(' ');
    const service = await createProcess('test', settings, (process) =>
      openStore(process, { DATABASE_URL: url, DATABASE_POOL_MAX: 5 }, { schema: role, entities: [] }),
    );
    await withDatabase(pair.primaryUrl, async (client) => {
      await client.query(alter('new'));
      await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${role}'`);
    });
    const who = await Promise.all(Array.from({ length: 8 }, () => service.started.sql('select current_user::text as who')));
    expect(who).toEqual(Array.from({ length: 8 }, () => [{ who: role }]));
    await service.stop();
  });
});
