import { setTimeout as pause } from 'node:timers/promises';
import { createClient, operatorService } from '@agent-service/contracts';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { type Organization, startWorld, type World } from '../system/world.ts';

/** FAULTS=long: 10 s of every fault, and the promised latency, 300 ms above calm, on a machine without other load. */
const long = process.env['FAULTS'] === 'long';
const faultMs = long ? 10_000 : 2_000;
/** Few in the short form, which runs beside other suites: whether one tenant delays the other does not depend on their number. */
const perSecond = long ? 15 : 5;
const everyMs = 1_000 / perSecond;
const addedMs = 300;

interface Sent {
  readonly status: number;
  readonly ms: number;
}

let world: World;
const agents = new Map<Organization, string>();
let calm: Sent[] = [];

beforeAll(async () => {
  world = await startWorld();
  for (const organization of [world.ours, world.theirs]) agents.set(organization, await agentOf(organization));
  await sendSteadily(world.theirs, 1_000);
  calm = await sendSteadily(world.theirs, long ? 5_000 : 1_000);
}, 120_000);
afterAll(async () => await world?.stop());
beforeEach(async () => await untilQuiet());

async function agentOf({ keys }: Organization): Promise<string> {
  const { data } = (await world.call(keys.live, { method: 'GET', path: '/v1/agents' })).json<{ data: { id: string }[] }>();
  return data[0]?.id ?? '';
}

/** Sends messages at a fixed rate for so long, and waits for all their outcomes. */
async function sendSteadily(organization: Organization, forMs: number): Promise<Sent[]> {
  const path = `/v1/agents/${agents.get(organization)}/messages`;
  const headers = { 'content-type': 'application/json' };
  const sendOne = async (n: number): Promise<Sent> => {
    const began = performance.now();
    const gateway = world.gateways[n % world.gateways.length];
    const { status } = await world.call(organization.keys.live, { method: 'POST', path, headers, body: '{"message":"Hello"}' }, gateway);
    return { status, ms: performance.now() - began };
  };
  const sent: Promise<Sent>[] = [];
  const began = performance.now();
  for (let n = 0; n * everyMs < forMs; n += 1) {
    await pause(Math.max(0, began + n * everyMs - performance.now()));
    sent.push(sendOne(n));
  }
  return await Promise.all(sent);
}

const quantile = (sent: readonly Sent[], of: number): number =>
  sent.map(({ ms }) => ms).sort((a, b) => a - b)[Math.floor(sent.length * of)] ?? Number.NaN;

async function database(): Promise<Client> {
  const client = new Client({ connectionString: world.system.endpoints['postgres'] ?? '' });
  await client.connect();
  return client;
}

async function untilQuiet(): Promise<void> {
  const client = await database();
  const end = performance.now() + 50_000;
  for (;;) {
    const { rows } = await client.query<{ left: string }>(
      "select (select count(*) from agents.answers where state <> 'releasing') + (select count(*) from credits.holds where state = 'open') as left",
    );
    if (Number(rows[0]?.left) === 0) break;
    if (performance.now() > end) throw new Error(`${rows[0]?.left} answers and holds are left`);
    await pause(200);
  }
  await client.end();
}

/** Both tenants send while one of them has the fault. Returns the outcomes of both. */
async function during(fault: (client: Client) => Promise<() => Promise<unknown>>): Promise<{ faulty: Sent[]; healthy: Sent[] }> {
  const client = await database();
  const repair = await fault(client);
  const faulty = sendSteadily(world.ours, faultMs);
  const healthy = await sendSteadily(world.theirs, faultMs);
  await repair();
  await client.end();
  return { faulty: await faulty, healthy };
}

/** Holds row locks of the first organization until the fault is over. */
const locking = (statement: string) => async (client: Client) => {
  await client.query('begin');
  await client.query(statement, [world.ours.id]);
  return () => client.query('rollback');
};

/** Runs PL/pgSQL for each row that the first organization writes to a table. */
const triggering = (table: string, when: string, body: string) => async (client: Client) => {
  await client.query(
    `create function ${table}_fault() returns trigger language plpgsql as $$ begin
       if new.organization_id = '${world.ours.id}' then ${body} end if; return new; end $$`,
  );
  await client.query(`create trigger fault before ${when} on ${table} for each row execute function ${table}_fault()`);
  return () => client.query(`drop function ${table}_fault cascade`);
};

const faults: Record<string, (client: Client) => Promise<() => Promise<unknown>>> = {
  'its ledger row is locked': locking('select 1 from credits.ledgers where organization_id = $1 for update'),
  'its rows of users, rollups and holds are locked': locking(
    'select 1 from credits.user_accounts join credits.usage_by_tier using (organization_id) where organization_id = $1 for update',
  ),
  'its agents are locked': locking('select 1 from agents.agents where organization_id = $1 for update'),
  'its line of waiting answers is locked': locking('select 1 from agents.answer_lines where organization_id = $1 for update'),
  'its conversations deadlock': triggering('agents.conversations', 'insert', "raise exception 'deadlock' using errcode = '40P01';"),
  'its usage records are slow to write': triggering('credits.usage_records', 'insert', 'perform pg_sleep(2);'),
};

test.each(Object.entries(faults))('a tenant is served as before while of a different tenant %s', async (_name, fault) => {
  const { healthy, faulty } = await during(fault);
  const figures = [0.5, 0.95, 0.99].map((of) => `${Math.round(quantile(calm, of))} -> ${Math.round(quantile(healthy, of))}`);
  process.stderr.write(`${_name}: p50, p95, p99 of ${healthy.length} in ms, calm -> fault: ${figures.join(', ')}\n`);
  expect(healthy.filter(({ status }) => status !== 200)).toEqual([]);
  if (long) expect(quantile(healthy, 0.99)).toBeLessThan(quantile(calm, 0.99) + addedMs);
  // The tenant with the fault gets an answer or a 503.
  expect(new Set(faulty.map(({ status }) => status)).difference(new Set([200, 503]))).toEqual(new Set());
});

test('the ledger is consistent afterwards', async () => {
  const { endpoints, secrets } = world.system;
  const credits = createClient('credits', {
    address: endpoints['credits'] ?? '',
    as: operatorService,
    config: { SERVICE_SECRET: [secrets.SERVICE_SECRET] },
  });
  expect((await credits.verifyLedger({})).faults).toEqual([]);
  credits.close();
});
