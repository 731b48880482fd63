import type { Client } from '@agent-service/contracts';
import { createLogger, createProcess, type ProcessContext, processSettings, type RunningProcess, readConfig } from '@agent-service/runtime';
import { databaseSettings, openStore, type Store } from '@agent-service/store';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SMTPServerOptions } from 'smtp-server';
import { z } from 'zod';
import { createMailer, createNotifier } from '../src/notifier.ts';
import { addNotice } from '../src/store/notices.ts';
import { migrated, query } from './boot.ts';
import { mailServer } from './mail-server.ts';

const [schema, hour] = ['webhooks', 3_600_000];
const tenant = { organizationId: 'org_a', environment: 'live' } as const;
const identity = { listAdministrators: async () => ({ users: [{ email: 'admin@acme.example' }] }) } as unknown as Client<'identity'>;

let database: TestDatabase;
let running: RunningProcess<Store>;
let context: ProcessContext;
let isRefusing: boolean;
let clock = Date.parse('2026-03-01T12:00:00Z');

beforeAll(async () => {
  database = await testDatabase(migrated);
  const settings = { HOST: '127.0.0.1', OPS_PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: database.url };
  const config = readConfig(z.object({ ...processSettings, ...databaseSettings }), settings);
  running = await createProcess('webhooks', config, (process) => {
    context = process;
    return openStore(process, config, { schema, entities: [] });
  });
});
afterAll(async () => {
  await running?.stop();
  await database?.drop();
});

type Callback = (cause?: Error | null) => void;

const refusalOf = (code: number) => (isRefusing ? Object.assign(new Error('refused'), { responseCode: code }) : null);
/** Answers with this code while the mail server refuses. */
const replyWith = (code: number) => (_: unknown, __: unknown, callback: Callback) => callback(refusalOf(code));
const loginWith = (code: number): SMTPServerOptions => ({
  allowInsecureAuth: true,
  onAuth: (_, __, callback) => callback(refusalOf(code), { user: 'service' }),
});

const refusals: Record<string, { options: SMTPServerOptions; isFinal: boolean }> = {
  'the connection (554)': { options: { onConnect: (session, callback) => replyWith(554)(session, undefined, callback) }, isFinal: false },
  'the login (535)': { options: loginWith(535), isFinal: false },
  'the sender (550)': { options: { onMailFrom: replyWith(550) }, isFinal: false },
  'the recipients for now (450)': { options: { onRcptTo: replyWith(450) }, isFinal: false },
  'the recipients (550)': { options: { onRcptTo: replyWith(550) }, isFinal: true },
  'the message (554)': {
    options: { onData: (stream, session, callback) => stream.on('end', () => replyWith(554)(stream, session, callback)).resume() },
    isFinal: true,
  },
};

test.each(Object.entries(refusals))('a mail server refuses %s', async (_, { options, isFinal }) => {
  const mails = await mailServer(options);
  try {
    isRefusing = true;
    const url = options.onAuth ? mails.url.replace('//', '//service:password@') : mails.url;
    const mailer = createMailer(context, { SMTP_URL: url, SMTP_FROM: 'service@acme.example' }, () => clock);
    const logger = createLogger('test', 'silent');
    const notify = createNotifier({ store: running.started, identity, mailer, logger, now: () => clock });
    const disabled = new Date(clock).toISOString();
    const notice = {
      endpointId: 'whk_1',
      url: 'https://127.0.0.1/',
      reason: 'gone',
      failingSince: disabled,
      disabledAt: disabled,
    } as const;
    await addNotice(running.started.sql, tenant, `n${clock}`, notice, clock);
    expect(await notify()).toBe(1);
    expect(await query(database.url, 'select tries from notices')).toEqual(isFinal ? [] : [{ tries: 1 }]);

    isRefusing = false;
    clock += hour;
    expect(await notify()).toBe(isFinal ? 0 : 1);
    expect(mails.received).toHaveLength(isFinal ? 0 : 1);
    expect(await query(database.url, 'select 1 from notices')).toEqual([]);
  } finally {
    await mails.stop();
    await query(database.url, 'delete from notices');
  }
});
