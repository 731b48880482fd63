import { fileURLToPath } from 'node:url';
import { type Client, createClient, newId } from '@agent-service/contracts';
import {
  modelsFileFor,
  type OwnRedis,
  ownRedis,
  type ScriptedModel,
  scriptedModel,
  type TestDatabase,
  testDatabase,
} from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { untilValue } from './support/compose.ts';
import { type ServiceProcess, secret, serviceProcess } from './support/processes.ts';
import { tenantOf } from './support/tenant.ts';

const innocents = 50;
const inFlight = 100;
/** How long the model takes for an answer of the killed worker. */
const modelMs = 3_000;
const { tenant, principal, fund, activeAgent } = tenantOf('org_poison');
const hook = fileURLToPath(new URL('../../../answer-worker/test/support/poison.mjs', import.meta.url));

let database: TestDatabase;
let redis: OwnRedis;
let model: ScriptedModel;
let credits: ServiceProcess;
let agents: ServiceProcess;
let worker: ServiceProcess;
let gateway: Client<'agents'>;
let operator: Client<'credits'>;
let direct: pg.Client;
let stopped = false;
let supervised: Promise<void> | undefined;
/** How often the worker process, which runs many answers at once, has died. */
let workerDeaths = 0;

const config = { SERVICE_SECRET: [secret] };

beforeAll(async () => {
  [database, redis] = await Promise.all([testDatabase(), ownRedis()]);
  model = await scriptedModel(({ messages }) =>
    JSON.stringify(messages).includes('poison')
      ? { kind: 'text', text: 'end-this-process' }
      : { kind: 'text', text: 'Fine.', delayMs: 1_000 },
  );
  credits = await serviceProcess('credits', database.url, {});
  const settings = { REDIS_URL: redis.url, CREDITS_ADDRESS: credits.address, ORGANIZATION_ANSWERS_IN_FLIGHT: String(inFlight) };
  agents = await serviceProcess('agents', database.url, settings);
  worker = await serviceProcess('answer-worker', database.url, {
    REDIS_URL: redis.url,
    AGENTS_ADDRESS: agents.address,
    MODELS_FILE: await modelsFileFor(model),
    NODE_OPTIONS: `--import ${hook}`,
  });
  await credits.start();
  await agents.start();
  gateway = createClient('agents', { address: agents.address, as: 'gateway', config });
  operator = await fund(credits.address, 1_000_000);
  direct = new pg.Client({ connectionString: database.url });
  await direct.connect();
});

afterAll(async () => {
  stopped = true;
  await worker?.stop();
  await supervised;
  for (const client of [gateway, operator]) client?.close();
  await direct?.end();
  await Promise.all([agents, credits].map((each) => each?.stop()));
  await Promise.all([model?.stop(), redis?.stop()]);
  await database?.drop();
});

/** Starts the only worker again whenever it has died, as an orchestrator does. */
async function supervise(): Promise<void> {
  while (!stopped) {
    await worker.start();
    await worker.ended();
    if (!stopped) workerDeaths += 1;
  }
}

interface Said {
  id: string;
  status: string;
  failure_code: string;
  credits: number;
  attempt: number;
}

test(`an answer that ends its process fails after three, and ${innocents} others of the same worker complete`, async () => {
  const agentId = await activeAgent(gateway);
  const toItem = (message: string) => ({ principal, answerId: newId('msg'), agentId, message, replyChannel: '', requestId: 'test' });
  const items = [...Array.from({ length: innocents }, () => toItem('How many?')), toItem('poison')];
  const poison = items.at(-1)?.answerId;
  const { results } = await gateway.startAnswer({ items });
  expect(results.map(({ refusal }) => refusal?.code)).toEqual(items.map(() => undefined));
  supervised = supervise();
  const messages = async () =>
    (await direct.query<Said>("select id, status, failure_code, credits, attempt from agents.messages where role = 'assistant'")).rows;
  const ends = await untilValue(messages, (rows) => rows.length === items.length, 150_000);

  expect(ends.find(({ id }) => id === poison)).toMatchObject({
    status: 'failed',
    failure_code: 'answer_abandoned',
    credits: 0,
    attempt: 3,
  });
  const others = ends.filter(({ id }) => id !== poison);
  expect(others.filter(({ status }) => status !== 'completed')).toEqual([]);
  // Each lost a lease with it in the worker, and those of one shared process a second one; none was with it at its third.
  expect(Math.max(...others.map(({ attempt }) => attempt))).toBeLessThanOrEqual(3);
  expect(others.filter(({ attempt }) => attempt === 3).length).toBeLessThan(innocents);
  expect(workerDeaths).toBe(1);

  const holds = async () =>
    (await direct.query<{ id: string; state: string; charge: number }>('select id, state, charge from credits.holds')).rows;
  const released = await untilValue(holds, (rows) => rows.every(({ state }) => state !== 'open'), 10_000);
  expect(released.filter(({ state }) => state === 'settled')).toHaveLength(innocents);
  expect(released.find(({ id }) => id === poison)?.state).not.toBe('settled');
  expect((await operator.verifyLedger({ organizationId: tenant.organizationId })).faults).toEqual([]);
}, 200_000);

/** Answers that take 3 s of the model, and the most that ran at the same time since the last check. */
function countAtOnce() {
  let running = 0;
  let most = 0;
  const end = () => {
    running -= 1;
  };
  model.follow(() => {
    running += 1;
    most = Math.max(most, running);
    setTimeout(end, modelMs);
    return { kind: 'text', text: 'Fine.', delayMs: modelMs };
  });
  return {
    running: () => running,
    most: () => most,
    forget: () => {
      most = running;
    },
  };
}

test(`${inFlight} answers of a worker that is killed go on together in the worker that comes after it`, async () => {
  const atOnce = countAtOnce();
  const agentId = await activeAgent(gateway);
  const items = Array.from({ length: inFlight }, () => ({
    principal,
    answerId: newId('msg'),
    agentId,
    message: 'How many?',
    replyChannel: '',
    requestId: 'test',
  }));
  const ids = items.map(({ answerId }) => answerId);
  const startedAt = Date.now();
  await gateway.startAnswer({ items });
  const countRunning = async () =>
    (await direct.query("select 1 from agents.answers where id = any($1) and state = 'running'", [ids])).rowCount;
  await untilValue(countRunning, (count) => count === inFlight, 30_000);
  await worker.kill();
  await untilValue(atOnce.running, (count) => count === 0, 10_000);
  atOnce.forget();
  const messages = async () =>
    (await direct.query<Said>("select * from agents.messages where role = 'assistant' and id = any($1)", [ids])).rows;
  const ends = await untilValue(messages, (rows) => rows.length === inFlight, 120_000);
  process.stdout.write(
    `after the kill at most ${atOnce.most()} at once on the model, all ended ${Date.now() - startedAt} ms after acceptance\n`,
  );
  expect(atOnce.most()).toBeGreaterThanOrEqual(50);
  expect(ends.filter(({ status, attempt }) => status !== 'completed' || attempt !== 2)).toEqual([]);
  const charged = async () =>
    (await direct.query<{ state: string }>('select state from credits.holds where id = any($1)', [ids])).rows.map(({ state }) => state);
  await untilValue(charged, (states) => states.length === inFlight && states.every((state) => state === 'settled'), 10_000);
  expect((await operator.verifyLedger({ organizationId: tenant.organizationId })).faults).toEqual([]);
}, 200_000);
