import { type Client, createClient, newId, operatorService } from '@agent-service/contracts';
import { createLogger } from '@agent-service/runtime';
import { type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { createSlowTenants } from '@agent-service/work';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { holdAll } from '../../src/answers/admission.ts';
import { type ServiceProcess, secret, serviceProcess } from './support/processes.ts';

const isHeld = (outcome: Awaited<ReturnType<typeof holdAll>>[number]) => !(outcome instanceof Error) && outcome.isHeld;

/** Half of their calls meet the frozen replica: more than a client may send to another replica before their deadline. */
const tenants = 150;
const config = { SERVICE_SECRET: [secret] };
const tenantOf = (n: number) => ({ organizationId: `org_${n}`, environment: 'live' }) as const;

let database: TestDatabase;
let replicas: ServiceProcess[];
let credits: Client<'credits'>;

beforeAll(async () => {
  database = await testDatabase();
  replicas = [await serviceProcess('credits', database.url, {}), await serviceProcess('credits', database.url, {})];
  for (const replica of replicas) await replica.start();
  const address = `ipv4:${replicas.map((replica) => replica.address).join(',')}`;
  credits = createClient('credits', { address, as: 'agents', config });
  const operator = createClient('credits', { address, as: operatorService, config });
  await Promise.all(
    Array.from({ length: tenants }, (_, n) => operator.grant({ tenant: tenantOf(n), grantId: `grant_${n}`, amount: 1_000 })),
  );
  operator.close();
});
afterAll(async () => {
  credits?.close();
  replicas?.[0]?.thaw();
  await Promise.all((replicas ?? []).map((replica) => replica.stop()));
  await database?.drop();
});

test('a frozen replica of credits fails no hold: a call that it does not answer in time is retried on another replica', async () => {
  const deps = { credits, process: { logger: createLogger('test', 'silent') }, slowTenants: { ledger: createSlowTenants({ permits: 3 }) } };
  const hold = (n: number) => {
    const id = newId('msg');
    return holdAll(deps as never, [{ ...tenantOf(n), id, message: { userId: `usr_${n}` }, tier: 'Fast', deadline: Date.now() + 300_000 }]);
  };
  const holdWhileFrozen = async () => {
    // Connects to both replicas.
    for (let n = 0; n < 4; n += 1) await until('both replicas answer', async () => (await hold(n)).every(isHeld));
    replicas[0]?.freeze();
    const outcomes = await Promise.all(Array.from({ length: tenants }, (_, n) => hold(n)));
    replicas[0]?.thaw();
    return outcomes.flat().filter((outcome) => !isHeld(outcome));
  };
  let failed = await holdWhileFrozen();
  // On a busy machine the other replica may be too slow as well, which says nothing about the frozen one.
  for (let tries = 1; tries < 4 && failed.length > 0; tries += 1) failed = await holdWhileFrozen();
  expect(failed).toEqual([]);
});
