import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, connect as dial, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { seed } from '@agent-service/local/seed';
import { type ChatRequest, machineEnvironment, mainFileOf, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type DataWorld, dataOf, type Message, startDataWorld } from './data-world.ts';
import { dump, untilOutboxesAreEmpty } from './database.ts';

let world: DataWorld;
const passwords = { first: 'first-secret-word', second: 'second-secret-word' };
const business = 'business';

beforeAll(async () => {
  world = await startDataWorld();
  await world.sql(`create database ${business}`);
  await world.sql('create table stock as select number as id, number * 10 as pieces from generate_series(1, 50) number', business);
  for (const [name, password] of Object.entries(passwords)) {
    await world.sql(`create role ${name} login password '${password}'`);
    await world.sql(`grant connect on database ${business} to ${name}`);
    await world.sql(`grant select on stock to ${name}`, business);
  }
}, 120_000);
afterAll(() => world?.stop());

const urlOf = (name: keyof typeof passwords) => world.urlOf(business, name, passwords[name]);
const tenant = (environment = 'live') => ({ organizationId: world.organizationId, environment });
const stepOf = ({ messages }: ChatRequest) => messages.filter(({ role }) => role === 'assistant').length;
const toolTexts = () =>
  (world.model.calls.at(-1)?.messages ?? []).flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : []));
const sum = { name: 'query', arguments: { sql: 'select sum(pieces) as pieces from stock' } };
const summed = 'pieces\n12750\n(1 row)';

/** Sets a model that takes this number of steps, and calls `before` ahead of each but the first. */
function script(steps: number, before: (step: number) => unknown = () => undefined) {
  world.model.follow(async (request) => {
    const step = stepOf(request);
    if (step > 0 && step < steps) await before(step);
    return step < steps ? { kind: 'tools', calls: [sum] } : { kind: 'text', text: 'Done.' };
  });
}

interface Ran {
  readonly code: number;
  readonly output: string;
}

/** Runs the operator's command line, which finds the system by its folder. */
async function admin(words: string, env: Record<string, string> = {}): Promise<Ran> {
  const main = mainFileOf('admin', 'packages/cli/src/main.ts');
  const options = { env: { ...machineEnvironment, DATA_DIR: world.system.dataDir, ...env } };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...words.split(' ')], options);
    return { code: 0, output: stdout + stderr };
  } catch (cause) {
    const { code, stdout, stderr } = cause as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}

test('an operator connects, tests, lists and removes by the command line, and sees no password', async () => {
  const selector = `--organization ${world.organizationId} --environment live`;
  const outputs = [
    await admin(`data-source connect ${selector} --url-env SOURCE --json`, { SOURCE: urlOf('first') }),
    await admin(`data-source test ${selector} --json`),
    await admin(`data-source list --organization ${world.organizationId} --json`),
  ];
  expect(outputs.map(({ code }) => code)).toEqual([0, 0, 0]);
  const [connected, tested, listed] = outputs.map(({ output }) => JSON.parse(output) as Record<string, unknown>);
  expect(connected).toMatchObject({ database: business, user: 'first', tls: 'off', tables: ['stock'] });
  expect(tested).toMatchObject({ database: business, tables: ['stock'], server_version: expect.stringMatching(/^\d+/) });
  // The start has connected the demonstration data.
  expect(listed?.['data_sources']).toMatchObject([
    { environment: 'live', user: 'first' },
    { environment: 'test', database: 'agent_service_demonstration' },
  ]);
  expect(outputs.map(({ output }) => output).join()).not.toContain(passwords.first);
  const removed = await admin(`data-source remove ${selector}`);
  expect([removed.code, removed.output]).toEqual([0, expect.stringContaining('removed: true')]);
  expect((await admin(`data-source test ${selector}`)).output).toContain('not_found');
});

test('a later start connects the demonstration where there is no data source, and keeps one that an operator has connected', async () => {
  await world.operator.connectDataSource({ ...tenant('test'), url: urlOf('first') });
  await seed(world.system);
  const connected = async () => {
    const { dataSources } = await world.operator.listDataSources({ organizationId: world.organizationId });
    return dataSources.map(({ environment, user, version }) => ({ environment, user, version }));
  };
  const [live, kept] = await connected();
  expect([live?.user, kept?.user]).toEqual(['agent_service_demonstration_reader', 'first']);
  // Its port or password may have changed, so that each start connects it again.
  await seed(world.system);
  expect(await connected()).toEqual([{ ...live, version: (live?.version ?? 0) + 1 }, kept]);
});

test('an error of the operator is reported without the URL', async () => {
  const selector = `--organization ${world.organizationId} --environment live`;
  const wrong: [string, string][] = [
    [`data-source connect ${selector}`, '--url-env'],
    [`data-source connect ${selector} --url-env NOT_SET`, 'NOT_SET'],
    [
      `data-source connect ${selector} --url ${urlOf('first').replace(passwords.first, 'hidden-word')}`,
      'the user or the password is wrong',
    ],
    [`data-source connect --organization org_none --environment live --url ${urlOf('first')}`, 'not_found'],
  ];
  for (const [words, said] of wrong) {
    const { code, output } = await admin(words);
    expect([words, code, output]).toEqual([words, 1, expect.stringContaining(said)]);
    expect(output).not.toMatch(new RegExp(`hidden-word|${passwords.first}`));
  }
});

test('new credentials apply to the next query, and after a removal there is no data source', async () => {
  await world.operator.connectDataSource({ ...tenant(), url: urlOf('first') });
  const agentId = await world.agent(['stock']);
  script(4, async (step) => {
    if (step === 1) {
      await world.operator.connectDataSource({ ...tenant(), url: urlOf('second') });
      await world.sql('alter role first nologin');
      await world.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'first'");
    }
    if (step === 2) await world.operator.removeDataSource(tenant());
    if (step === 3) await world.operator.connectDataSource({ ...tenant(), url: urlOf('second') });
  });
  const message = dataOf<Message>(await world.ask(agentId, 'How many pieces?'));
  expect(toolTexts()).toEqual([summed, summed, 'No data source is connected at the moment.', summed]);
  expect(message.queries).toHaveLength(3);
});

/** A proxy between the agents and their database that can refuse connections or fall silent. */
interface Proxy {
  readonly url: string;
  state: 'open' | 'closed' | 'silent';
  cut(): void;
  stop(): void;
}

async function startProxy(target: string): Promise<Proxy> {
  const { port } = new URL(target);
  const sockets = new Set<Socket>();
  const self = { state: 'open' as Proxy['state'] };
  const server: Server = createServer((near) => {
    if (self.state === 'closed') return void near.destroy();
    const far = dial(Number(port), '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
      from.on('data', (chunk) => self.state === 'silent' || to.write(chunk));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(target);
  url.port = String((server.address() as { port: number }).port);
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return Object.assign(self, {
    url: url.href,
    cut,
    stop: () => {
      cut();
      server.close();
    },
  });
}

test('while the database is unavailable or silent answers fail with 503 and cost nothing; afterwards queries succeed again', async () => {
  const link = await startProxy(urlOf('second'));
  await world.operator.connectDataSource({ ...tenant(), url: link.url });
  await world.operator.connectDataSource({ ...tenant('test'), url: link.url });
  const [agentId, builtIn] = [await world.agent(['stock']), await world.agent(['stock'], { key: world.keys.test })];
  const balance = async () => dataOf<{ balance: number }>(await world.call(world.keys.live, 'GET', '/v1/credits/balance')).balance;
  const before = await balance();
  script(2, () => {
    link.state = 'closed';
    link.cut();
  });
  expect(await failureOf(agentId)).toMatchObject({
    status: 503,
    retryAfter: expect.any(String),
    message: expect.stringContaining('cannot be reached'),
  });
  // Neither tools nor the text of the answer reach the model any more, and the built-in model fails alike.
  expect(toolTexts()).toEqual([summed]);
  expect(await failureOf(builtIn, world.keys.test)).toMatchObject({ status: 503, message: expect.stringContaining('cannot be reached') });

  link.state = 'open';
  script(2, () => {
    link.state = 'silent';
  });
  expect(await failureOf(agentId)).toMatchObject({
    status: 503,
    message: expect.stringMatching(/did not answer in time|cannot be reached/),
  });
  expect(await balance()).toBe(before);

  link.state = 'open';
  script(1);
  dataOf(await world.ask(agentId, 'How many pieces?'));
  expect(toolTexts()).toEqual([summed]);
  link.stop();
});

/** A failed answer as its waiting caller gets it, which is the same when it is read later. */
async function failureOf(agentId: string, key = world.keys.live) {
  const answer = await world.ask(agentId, 'How many pieces?', key);
  const { error } = answer.json<{ error: { code: string; type: string; message: string; details: { message_id: string } } }>();
  const path = `/v1/agents/${agentId}/messages/${error.details.message_id}`;
  const read = dataOf<Message>(await world.call(key, 'GET', path));
  expect([error.code, error.type, read]).toEqual([
    'data_source_unavailable',
    'provider',
    expect.objectContaining({ status: 'failed', credits_consumed: 0, content: expect.stringContaining(error.message) }),
  ]);
  return { status: answer.status, retryAfter: answer.headers['retry-after'], message: error.message };
}

test('an agent whose tables are all gone from the database fails with 503 and its own code', async () => {
  await world.sql('create table brief (id integer); grant select on brief to second', business);
  await world.operator.connectDataSource({ ...tenant(), url: urlOf('second') });
  const agentId = await world.agent(['brief']);
  await world.sql('drop table brief', business);
  // Connecting again makes every worker survey the tables at once.
  await world.operator.connectDataSource({ ...tenant(), url: urlOf('second') });
  const answer = await world.ask(agentId, 'How many?');
  expect([answer.status, answer.json<{ error: { code: string } }>().error.code]).toEqual([503, 'data_scope_empty']);
});

test('no password of a data source stands in clear in a row or in a log', async () => {
  await world.operator.connectDataSource({ ...tenant(), url: urlOf('second') });
  script(1);
  dataOf(await world.ask(await world.agent(['stock']), 'How many pieces?'));
  // The worker logs the end of idle connections.
  await world.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'second'");
  await until(() => world.log('answer-worker').includes('data_source_connection_lost'));
  const lost = world
    .log('answer-worker')
    .split('\n')
    .filter((line) => line.includes('data_source_connection_lost'));
  // The driver attaches the whole connection to its errors, which must not be logged.
  expect(Math.max(...lost.map(({ length }) => length))).toBeLessThan(3_000);
  const secrets = [...Object.values(passwords), 'hidden-word', world.system.demonstrationPassword];
  const postgres = world.system.endpoints['postgres'] ?? '';
  await untilOutboxesAreEmpty(postgres);
  const rows = [...(await dump(postgres))].flatMap(([table, lines]) => lines.map((line) => `${table}: ${line}`));
  expect(rows.some((row) => row.includes('data_source.connected'))).toBe(true);
  for (const secret of secrets) expect(rows.filter((row) => row.includes(secret))).toEqual([]);
  const folder = join(world.system.dataDir, 'logs');
  // The server's own log has the statements with which this test created its roles.
  const logs = readdirSync(folder).filter((name) => name !== 'postgres.log');
  for (const name of logs)
    for (const secret of secrets) expect([name, readFileSync(join(folder, name), 'utf8').includes(secret)]).toEqual([name, false]);
});
