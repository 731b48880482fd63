import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient, newId } from '@agent-service/contracts';
import { type OwnRedis, ownRedis, type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import pg from 'pg';
import { untilValue } from './support/compose.ts';
import { type ServiceProcess, secret, serviceProcess } from './support/processes.ts';
import { tenantOf } from './support/tenant.ts';
import { type ScriptedWorker, scriptedWorker } from './support/worker.ts';

const seconds = Number(process.env['FAULT_SECONDS'] ?? 5);
const callers = 40;
const afterFaultsMs = 60_000;
const longForm = process.env['FAULT_SECONDS'] !== undefined;
/** Before a caller sends its next message. Without it most of the load is refusals over the organization's limit. */
const pauseMs = longForm ? 0 : 300;
/** Deadline, grace, and the round of the sweep. */
const overdueMs = 150_000;
const { tenant, principal, fund, activeAgent } = tenantOf('org_faults');

let database: TestDatabase;
let redis: OwnRedis;
let credits: ServiceProcess;
let agents: ServiceProcess[];
let worker: ScriptedWorker;
let gateway: Client<'agents'>;
let ofWorker: Client<'agents'>;
let operator: Client<'credits'>;
let agentId: string;

const config = { SERVICE_SECRET: [secret] };

beforeAll(async () => {
  [database, redis] = await Promise.all([testDatabase(), ownRedis()]);
  credits = await serviceProcess('credits', database.url, {});
  const settings = {
    REDIS_URL: redis.url,
    CREDITS_ADDRESS: credits.address,
    ANSWER_DEADLINE_SECONDS: '40',
    ORGANIZATION_ANSWERS_IN_FLIGHT: '30',
  };
  agents = [await serviceProcess('agents', database.url, settings), await serviceProcess('agents', database.url, settings)];
  await Promise.all([credits, ...agents].map((each) => each.start()));
  const address = `ipv4:${agents.map((each) => each.address).join(',')}`;
  gateway = createClient('agents', { address, as: 'gateway', config });
  ofWorker = createClient('agents', { address, as: 'answer-worker', config });
  operator = await fund(credits.address, 100_000_000);
  agentId = await activeAgent(gateway);
  worker = await scriptedWorker(ofWorker, redis.url, () => Math.random() * 40);
});

afterAll(async () => {
  await worker?.stop();
  for (const client of [gateway, ofWorker, operator]) client?.close();
  await Promise.all([...(agents ?? []), credits].map((each) => each?.stop()));
  await redis?.stop();
  await database?.drop();
});

/** Sends the same item for 5 s until a replica answers, as a gateway does for one caller. */
async function ask(accepted: Map<string, number>): Promise<void> {
  const answerId = newId('msg');
  const item = { principal, answerId, agentId, message: 'How many?', replyChannel: 'replies:test', requestId: 'test' };
  const end = performance.now() + 5_000;
  while (performance.now() < end) {
    const response = await gateway.startAnswer({ items: [item] }, { timeoutMs: 2_000 }).catch(() => undefined);
    const [result] = response?.results ?? [];
    if (result?.started) accepted.set(answerId, performance.now());
    if (result?.started || (result?.refusal && result.refusal.code !== 'unavailable')) return;
    await pause(50);
  }
}

async function load(accepted: Map<string, number>, stopped: () => boolean): Promise<void> {
  const one = async () => {
    while (!stopped()) {
      await ask(accepted);
      await pause(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: callers }, one));
}

/** Each fault in turn, at a random moment, and then again. */
async function faults(until: number): Promise<string[]> {
  const flush = async () => {
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
  };
  const kill = (process: ServiceProcess) => async () => {
    await process.kill();
    await pause(200);
    await process.start();
  };
  const kinds: [string, () => Promise<void>][] = [
    ['agents', kill(agents[0] as ServiceProcess)],
    ['flush', flush],
    ['credits', kill(credits)],
    ['agents', kill(agents[1] as ServiceProcess)],
    [
      'redis',
      async () => {
        await redis.stop();
        await pause(1_000);
        await redis.start();
      },
    ],
    [
      'both agents',
      async () => {
        await Promise.all(agents.map((each) => each.kill()));
        await Promise.all(agents.map((each) => each.start()));
      },
    ],
  ];
  const done: string[] = [];
  for (let n = 0; performance.now() < until || n < kinds.length; n += 1) {
    const [name, fault] = kinds[n % kinds.length] as (typeof kinds)[number];
    await pause(Math.random() * 600);
    await fault();
    done.push(name);
  }
  return done;
}

test(
  'every accepted message is answered once and charged once, even if any process dies and Redis loses any data',
  async () => {
    const accepted = new Map<string, number>();
    let stopped = false;
    const loading = load(accepted, () => stopped);
    const done = await faults(performance.now() + seconds * 1_000);
    stopped = true;
    await loading;
    const faultsEndedAt = performance.now();
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const open = async () => Number((await client.query('select count(*) from agents.answers')).rows[0]?.count);
    await untilValue(open, (left) => left === 0, afterFaultsMs);
    process.stdout.write(
      `killed: ${accepted.size} accepted, faults: ${done.join(', ')}; at rest ${Math.round(performance.now() - faultsEndedAt)} ms after the last\n`,
    );
    expect(accepted.size).toBeGreaterThan(100);

    // None is lost or answered twice: one message of the user and one of the agent each.
    const { rows: messages } = await client.query<{ id: string; status: string; credits: number }>(
      "select id, status, credits from agents.messages where role = 'assistant'",
    );
    const ends = new Map(messages.map((message) => [message.id, message]));
    expect([...accepted.keys()].filter((id) => !ends.has(id))).toEqual([]);
    expect(messages.filter(({ status }) => status !== 'completed' && status !== 'failed')).toEqual([]);
    // Charged once: the ledger settled the holds of the completed answers, for the credits that their messages show. A process that died
    // between a hold and its acceptance leaves the hold open; the sweep of overdue holds takes longer than the short form waits.
    const holdsNow = async () =>
      (
        await client.query<{ id: string; state: string; charge: number }>(
          "select id, state, charge from credits.holds where state <> 'void'",
        )
      ).rows;
    const isOpen = ({ state }: { state: string }) => state === 'open';
    if (longForm)
      await untilValue(
        async () => (await holdsNow()).filter(isOpen).length,
        (open) => open === 0,
        overdueMs,
      );
    const holds = await holdsNow();
    expect(holds.filter(isOpen).filter(({ id }) => ends.has(id) || accepted.has(id))).toEqual([]);
    const settledHolds = holds.filter(({ state }) => state === 'settled').map(({ id, charge }) => [id, charge]);
    const completed = messages.filter(({ status }) => status === 'completed').map(({ id, credits: charge }) => [id, charge]);
    expect(new Map(settledHolds as [string, number][])).toEqual(new Map(completed as [string, number][]));
    const { faults: ledgerFaults } = await operator.verifyLedger({ organizationId: tenant.organizationId });
    expect(ledgerFaults).toEqual([]);
    // A stored result is never computed again.
    expect(worker.wasted).toEqual([]);
    const { rows: lines } = await client.query('select waiting, in_flight from agents.answer_lines');
    expect(lines).toEqual([{ waiting: 0, in_flight: 0 }]);
    const { rows: off } = await client.query(
      `select c.id from agents.conversations c left join agents.messages m on m.conversation_id = c.id
       group by c.id, c.message_count, c.total_credits having c.message_count <> count(m.id) or c.total_credits <> sum(m.credits)`,
    );
    expect(off).toEqual([]);
    await client.end();
  },
  (longForm ? 300_000 : 120_000) + seconds * 1_000,
);
