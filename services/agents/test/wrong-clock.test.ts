import { createClient } from '@agent-service/contracts';
import { clockShifts, type TestDatabase, testDatabase, testRedis } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { untilValue } from './answers/support/compose.ts';
import { type ServiceProcess, secret, serviceProcess } from './answers/support/processes.ts';
import { asCaller, body } from './boot.ts';

const day = 86_400_000;

let database: TestDatabase;
let agents: ServiceProcess;
beforeAll(async () => {
  database = await testDatabase();
  const clocks = await clockShifts();
  clocks.shift({ kill: () => undefined }, 40 * day);
  const settings = { REDIS_URL: (await testRedis()).url, CREDITS_ADDRESS: '127.0.0.1:1', ...clocks.settings };
  agents = await serviceProcess('agents', database.url, settings);
  await agents.start('alive');
});
afterAll(async () => {
  await agents?.stop();
  await database?.drop();
});

test('a process whose clock is 40 days ahead when it starts writes the time of its database', async () => {
  const gateway = createClient('agents', { address: agents.address, as: 'gateway', config: { SERVICE_SECRET: [secret] } });
  const create = () =>
    asCaller({}, () => gateway.createAgent(body())).then(
      () => true,
      () => false,
    );
  await untilValue(create, (isCreated) => isCreated);
  gateway.close();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query(`select abs(extract(epoch from now() - created_at)) < 600 as "isNow" from agents.agents`);
  expect(rows).toEqual([{ isNow: true }]);
  // Partitions are made for the month before, this month and the next one.
  const { rows: partitions } = await client.query(
    `select count(*)::integer as count from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'agents.messages'::regclass and c.relname like '%' || to_char(now(), 'YYYY') || '%' || to_char(now(), 'MM') || '%'`,
  );
  expect(partitions).toEqual([{ count: 1 }]);
  await client.end();
});
