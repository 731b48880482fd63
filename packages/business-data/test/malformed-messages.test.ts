import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { until } from '@agent-service/testkit';
import { afterEach, expect, test } from '@jest/globals';
import { createDataSource } from '../src/index.ts';
import {
  accepted,
  columnsOf,
  complete,
  type FakeServer,
  type FakeServerScript,
  fakeServer,
  int16,
  int32,
  message,
  rowOf,
} from './support/fake-server.ts';

const servers: FakeServer[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function serve(script: FakeServerScript): Promise<FakeServer> {
  const server = await fakeServer(script);
  servers.push(server);
  return server;
}

interface Outcome {
  readonly survey: string;
  readonly statement: string;
  readonly megabytes: number;
}

interface Case {
  readonly name: string;
  readonly server: FakeServerScript;
}

const reader = fileURLToPath(new URL('./support/read-fake-servers.ts', import.meta.url));

/** Reads the servers in a process of its own, which an uncaught error ends. Returns the outcome for each of them. */
async function read(cases: readonly Case[]): Promise<readonly (Outcome & { readonly name: string; readonly sentBytes: number })[]> {
  const running = await Promise.all(cases.map(({ server }) => serve(server)));
  const urls = running.map(({ url }) => url);
  const run = promisify(execFile)(process.execPath, [reader, ...urls], { timeout: 60_000, killSignal: 'SIGKILL' });
  const { stdout, stderr } = await run.catch((cause: { stdout: string; stderr: string }) => cause);
  const outcomes = stdout.split('\n').filter(Boolean);
  if (outcomes.length < cases.length) throw new Error(`the process ended at "${cases[outcomes.length]?.name}": ${stderr.slice(0, 500)}`);
  return outcomes.map((line, index) => ({
    ...(JSON.parse(line) as Outcome),
    name: cases[index]?.name ?? '',
    sentBytes: running[index]?.sentBytes ?? 0,
  }));
}

/** These messages, then the last one again and again. */
const endless = (...messages: readonly Buffer[]): Iterable<Buffer> => ({
  *[Symbol.iterator]() {
    yield Buffer.concat(messages);
    const chunk = Buffer.concat(Array(1_000).fill(messages.at(-1)));
    for (;;) yield chunk;
  },
});

/** A message whose header promises two gigabytes. */
const huge = (code: string, ...before: readonly Buffer[]): Iterable<Buffer> =>
  endless(...before, message(code, int16(1), 2 ** 31), Buffer.alloc(1_000, 'x'));

const malformed = /^unavailable: The data source sent something that is not of PostgreSQL’s protocol\.$/;
const tooMuch = /^unavailable: The data source sent too much/;
const notice = message('N', 'SNOTICE\0Mhello\0\0');
const status = message('S', 'name\0value\0');
const oneColumn = columnsOf(['a']);

const first = rowOf(['1']);

/** Messages outside of a result. */
const shapes: readonly (readonly [string, Buffer])[] = [
  ['an authentication without its code', message('R')],
  ['an authentication with an unknown code', message('R', int32(99))],
  ['an error whose fields do not end', message('E', 'SERROR\0Mhello')],
  ['a notice without fields', message('N')],
  ['a key without its parts', message('K', 'ab')],
  ['a length of zero', message('S', 'name\0value\0', 0)],
  ['a length of three', message('Z', '', 3)],
];

/** The middle of a result of one column. */
const resultShapes: readonly (readonly [string, Buffer])[] = [
  ...shapes,
  ['columns that are missing', message('T', int16(3))],
  ['a negative number of columns', message('T', int16(-5))],
  ['a row whose only value is missing', message('D', int16(1))],
  ['a value of a negative length', message('D', Buffer.concat([int16(1), int32(-4)]))],
  ['a value that is longer than its row', message('D', Buffer.concat([int16(1), int32(1_000)]))],
  ['a row with fewer values than columns', message('D', int16(0))],
  ['a row that goes on', message('D', Buffer.concat([int16(1), int32(1), Buffer.from('1 and more')]))],
];

type Shapes<T> = readonly (readonly [string, T])[];
const casesOf = <T>(shapesOf: Shapes<T>, script: (value: T) => FakeServerScript): Case[] =>
  shapesOf.map(([name, value]) => ({ name, server: script(value) }));

const results = /pg_namespace|select of a model/;

test.each<readonly [string, Case[], RegExp]>([
  ['before the login', casesOf(shapes, (startup) => ({ startup })), malformed],
  ['after TLS', casesOf(shapes, (startup) => ({ startup, tls: true })), malformed],
  // No call is there yet that could fail with the reason.
  ['behind the accepted login', casesOf(shapes, (bytes) => ({ startup: Buffer.concat([accepted, bytes]) })), /^unavailable/],
  [
    'in the middle of a result',
    casesOf(resultShapes, (bytes) => ({ statement: { text: results, reply: Buffer.concat([oneColumn, first, bytes, first, complete]) } })),
    malformed,
  ],
])('a malformed message %s ends its connection, and never the process', async (_, cases, failure) => {
  for (const { name, survey, statement } of await read(cases))
    expect([name, survey, statement]).toEqual([name, expect.stringMatching(failure), expect.stringMatching(failure)]);
});

const endlessLogins: Shapes<Iterable<Buffer>> = [
  ['parameters', endless(status)],
  ['notices', endless(notice)],
  ['a long message', huge('S')],
];

test('a connection to a server that sends without end before the login is cut', async () => {
  for (const { name, survey, statement, sentBytes, megabytes } of await read(casesOf(endlessLogins, (startup) => ({ startup })))) {
    expect([name, survey, statement]).toEqual([name, expect.stringMatching(tooMuch), expect.stringMatching(tooMuch)]);
    expect([name, sentBytes < 20_000_000, megabytes < 400]).toEqual([name, true, true]);
  }
});

const endlessSurveys: Shapes<Iterable<Buffer>> = [
  ['rows', endless(oneColumn, first)],
  ['rows without columns', endless(columnsOf([]), message('D', int16(0)))],
  ['notices', endless(oneColumn, notice)],
  ['a long row', huge('D', oneColumn)],
];

test('a connection to a server that sends without end in a survey is cut; statements of models keep their own limit', async () => {
  const cases = casesOf(endlessSurveys, (reply) => ({ statement: { text: results, reply } }));
  for (const { name, survey, statement, sentBytes, megabytes } of await read(cases)) {
    expect([name, survey, statement]).toEqual([name, expect.stringMatching(tooMuch), 'read']);
    expect([name, sentBytes < 60_000_000, megabytes < 400]).toEqual([name, true, true]);
  }
});

const scram = message('R', Buffer.concat([int32(10), Buffer.from('SCRAM-SHA-256\0\0')]));

/** Answers each message of the client's authentication with several challenges, with these messages between them. */
function challenges(received: string[], ...between: readonly Buffer[]): FakeServerScript {
  const reply = (text: string) => {
    received.push(text);
    const nonce = /,r=([^,]+)$/.exec(text)?.[1] ?? '';
    const challenge = message('R', Buffer.concat([int32(11), Buffer.from(`r=${nonce}x,s=AAAA,i=4096`)]));
    return Buffer.concat([challenge, ...between, challenge, challenge]);
  };
  return { startup: scram, statement: { text: /^p/, reply } };
}

test('a server has one challenge for each connection, and none after the login: each costs thousands of rounds of a hash', async () => {
  const received: string[] = [];
  const afterLogin = { text: results, reply: Buffer.concat([message('R', int32(0)), complete]) };
  const cases: Case[] = [
    { name: 'several challenges', server: challenges(received) },
    { name: 'several logins', server: challenges(received, scram) },
    { name: 'after the login', server: { statement: afterLogin } },
  ];
  for (const { name, survey, statement } of await read(cases))
    expect([name, survey, statement]).toEqual([name, expect.stringMatching(malformed), expect.stringMatching(malformed)]);
  // Each connection sends its first message, and no reply to a challenge.
  expect(received.filter((text) => !text.includes('SCRAM-SHA-256'))).toEqual([]);
});

const digits = '1'.repeat(200_000);

/** Types of the driver whose parsers take time that grows with the square of a value. */
const slowTypes: Shapes<Buffer> = [1082, 1114, 1184, 1115, 1182, 1185].map((type) => [
  `type ${type}`,
  Buffer.concat([columnsOf(['set'], type), rowOf([digits]), rowOf([`{${digits}}`]), complete]),
]);

test('the type that a server gives to a value costs no time', async () => {
  const cases = casesOf(slowTypes, (reply) => ({ statement: { text: /client_connection_check_interval', true/, reply } }));
  for (const { name, survey, statement } of await read(cases)) expect([name, survey, statement]).toEqual([name, 'read', 'read']);
});

test('a connection is closed after a refused login and at the end, also where the server leaves it open', async () => {
  const refused = message('E', 'SFATAL\0C28000\0Mno\0\0');
  for (const script of [{ startup: refused }, { startup: accepted }, { startup: Buffer.from('N'), sslmode: 'require' }]) {
    const server = await serve({ ...script, staysOpen: true });
    const source = createDataSource({ url: server.url }, () => undefined);
    await source.check().catch(() => undefined);
    await source.close();
    await until('the connection is closed', () => server.openConnections === 0);
  }
});
