import { setTimeout as pause } from 'node:timers/promises';
import { createClient, operatorService } from '@agent-service/contracts';
import { type ClockShifts, clockShifts, send, steadyLoad, summarize, until, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { explainFailures, explainRepeats } from './expectations.ts';
import { untilQuiet } from './figures.ts';
import { type FaultyWorld, startFaultyWorld } from './world.ts';

/** FAULTS=long: under load for longer, with clocks of every kind of fault, and from the start of a process. */
const isLong = process.env['FAULTS'] === 'long';
const shiftedMs = isLong ? 20_000 : 1_500;
const perSecond = 8;
const skewed = ['identity-2', 'credits-2', 'agents-2', 'answer-worker-2', 'gateway-2'];
const day = 86_400_000;

let world: FaultyWorld;
let clocks: ClockShifts;
let token: string;
const testBeganAt = Date.now() - 1_000;
beforeAll(async () => {
  clocks = await clockShifts();
  const settings = { REPLICAS: 'gateway=2 identity=2 credits=2 agents=2 answer-worker=2', ...clocks.settings };
  world = await startFaultyWorld({ modelMs: 50, settings });
  const issued = await send(world.system.url, {
    method: 'POST',
    path: '/v1/auth/token',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: world.key }),
  });
  token = issued.json<{ data: { access_token: string } }>().data.access_token;
}, 120_000);
afterAll(async () => await world?.stop());

async function ask(gateway: string, marker: string): Promise<void> {
  const answer = await send(gateway, {
    method: 'POST',
    path: `/v1/agents/${world.agentId}/messages`,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ message: `Question ${marker}` }),
  });
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
}

function shift(name: string, aheadMs: number): void {
  const process = world.system.processes.get(name);
  if (!process) throw new Error(`there is no process ${name}`);
  clocks.shift(process, aheadMs);
}

/** The faults that each of the skewed processes reports. */
async function faultsOf(names: readonly string[]): Promise<string[][]> {
  const reports = names.map(async (name) => {
    const response = await fetch(`${world.system.endpoints[`${name}.ops`]}/readyz`);
    return Object.keys(((await response.json()) as { faults: object }).faults);
  });
  return await Promise.all(reports);
}

/** Resolves when each of the processes reports these faults and no others. */
const untilFaults = (names: readonly string[], faults: readonly string[]) =>
  until(`${names} report [${faults}]`, async () => {
    expect(await faultsOf(names)).toEqual(names.map(() => faults));
    return true;
  });

/** Restarts the process; its next run has the wrong clock from its first instruction. */
async function restartWith(name: string, aheadMs: number): Promise<void> {
  shift(name, aheadMs);
  const process = world.system.processes.get(name);
  const before = process?.pid;
  process?.kill('SIGTERM');
  await until(`${name} runs again`, async () => ![undefined, before].includes(process?.pid));
  await until(`${name} reports its clock`, async () => (await faultsOf([name]).catch(() => []))[0]?.join() === 'clock');
}

/** The numbers of stored times outside of this test, and of months in the ledger. */
const traces = (url: string) =>
  withDatabase(url, async (client) => {
    const wrong = (column: string) => `${column} > now() + interval '2 seconds' or ${column} < $1`;
    const { rows } = await client.query<Record<string, number>>(
      `select (select count(*)::integer from agents.messages where conversation_id in (select conversation_id from credits.usage_records)
                 and (${wrong('created_at')})) as messages,
              (select count(*)::integer from agents.messages where role = 'assistant' and status <> 'completed') as unanswered,
              (select count(*)::integer from credits.usage_records where ${wrong('at')}) as usage,
              (select count(distinct month)::integer from credits.user_accounts) as months,
              (select count(*)::integer from identity.audit_entries where ${wrong('created_at')}) as audit`,
      [new Date(testBeganAt)],
    );
    return rows[0];
  });

/** A key that was revoked is refused by both gateways as soon as the revocation has been answered. */
async function expectRevocationAtOnce(): Promise<void> {
  const config = { SERVICE_SECRET: [world.system.secrets.SERVICE_SECRET] };
  const identity = createClient('identity', { as: operatorService, address: world.system.endpoints['identity'] ?? '', config });
  const { organizationId, userId } = await identity.createOrganization({ name: 'Revoked' });
  const { keyId, apiKey } = await identity.createKey({ organizationId, userId, environment: 'live' });
  const headers = { authorization: `Bearer ${apiKey}` };
  const statuses = () =>
    Promise.all(world.gateways.map(async (url) => (await send(url, { method: 'GET', path: '/v1/agents', headers })).status));
  expect(await statuses()).toEqual([200, 200]);
  await identity.revokeKey({ keyId });
  expect(await statuses()).toEqual([401, 401]);
  identity.close();
}

test.each([
  { what: '40 days', aheadMs: 40 * day, isReady: false },
  ...(isLong
    ? [
        { what: '1.2 s', aheadMs: 1_200, isReady: true },
        { what: '20 s', aheadMs: 20_000, isReady: false },
        { what: '-40 days', aheadMs: -40 * day, isReady: false },
      ]
    : []),
])(
  'a replica of each service whose clock is set $what ahead does no harm',
  async ({ aheadMs, isReady }) => {
    const marker = (index: number) => `q-${1_000 + skewed.length + Math.abs(aheadMs % 997)}-${index}${aheadMs < 0 ? '1' : '0'}`;
    // A gateway that is not ready gets no requests from outside, but it answers those that it receives.
    const load = steadyLoad(perSecond, (index) => ask(world.gateways[index % 2] as string, marker(index)));
    await pause(1_000);
    for (const name of skewed) {
      shift(name, aheadMs);
      await pause(100);
    }
    await pause(shiftedMs);
    // On a busy machine a process may report for a moment that a service does not answer.
    await untilFaults(skewed, isReady ? [] : ['clock']);
    await untilFaults(['identity', 'credits', 'agents', 'answer-worker', 'gateway'], []);
    await expectRevocationAtOnce();
    for (const name of skewed) {
      shift(name, 0);
      await pause(100);
    }
    await untilFaults(skewed, []);
    expect(explainFailures(world, summarize(await load.stop()).failures)).toEqual([]);
    expect(explainRepeats(world)).toEqual([]);
    expect(await untilQuiet(world)).toEqual({ answers: 0, in_lines: 0, open_holds: 0 });
    expect((await world.credits.verifyLedger({})).faults).toEqual([]);
    expect(await traces(world.databaseUrl)).toEqual({ messages: 0, unanswered: 0, usage: 0, months: 1, audit: 0 });
  },
  120_000,
);

(isLong ? test : test.skip)(
  'a replica of each service that starts with a clock 40 days ahead does no harm',
  async () => {
    // Requests go to the first gateway: the second one restarts.
    const load = steadyLoad(perSecond, (index) => ask(world.gateways[0] as string, `q-9000-${index}`));
    await Promise.all(skewed.map((name) => restartWith(name, 40 * day)));
    await untilFaults(skewed, ['clock']);
    for (const name of skewed) shift(name, 0);
    await untilFaults(skewed, []);
    expect(explainFailures(world, summarize(await load.stop()).failures)).toEqual([]);
    expect(await untilQuiet(world)).toEqual({ answers: 0, in_lines: 0, open_holds: 0 });
    expect((await world.credits.verifyLedger({})).faults).toEqual([]);
    expect(await traces(world.databaseUrl)).toEqual({ messages: 0, unanswered: 0, usage: 0, months: 1, audit: 0 });
  },
  120_000,
);
