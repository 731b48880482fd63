import { type Client, createClient, newId } from '@agent-service/contracts';
import { silentProxy, type TestDatabase, testDatabase, testRedis, until } from '@agent-service/testkit';
import { afterAll, beforeAll, test } from '@jest/globals';
import { type ServiceProcess, secret, serviceProcess } from './support/processes.ts';
import { tenantOf } from './support/tenant.ts';

/** A replica that gets half of the calls gets one of so many in a row. */
const inARow = 20;
const { principal, fund, activeAgent } = tenantOf('org_cut_off');

let database: TestDatabase;
let credits: ServiceProcess;
let proxy: Awaited<ReturnType<typeof silentProxy>>;
let agents: ServiceProcess[];
let gateway: Client<'agents'>;
let operator: Client<'credits'>;
let agentId: string;

beforeAll(async () => {
  const [ownDatabase, { url: redisUrl }] = await Promise.all([testDatabase(), testRedis()]);
  database = ownDatabase;
  credits = await serviceProcess('credits', database.url, {});
  await credits.start();
  proxy = await silentProxy(`grpc://${credits.address}`);
  const addresses = [credits.address, new URL(proxy.url).host];
  agents = await Promise.all(
    addresses.map((address) => serviceProcess('agents', database.url, { REDIS_URL: redisUrl, CREDITS_ADDRESS: address })),
  );
  await Promise.all(agents.map((each) => each.start()));
  const address = `ipv4:${agents.map((each) => each.address).join(',')}`;
  gateway = createClient('agents', { address, as: 'gateway', config: { SERVICE_SECRET: [secret] } });
  operator = await fund(credits.address, 1_000_000);
  agentId = await activeAgent(gateway);
});

afterAll(async () => {
  gateway?.close();
  operator?.close();
  await Promise.all([...(agents ?? []), credits].map((each) => each?.stop()));
  await proxy?.close();
  await database?.drop();
});

async function send(): Promise<void> {
  const item = { principal, answerId: newId('msg'), agentId, message: 'How many?', replyChannel: 'replies:test', requestId: 'test' };
  await gateway.startAnswer({ items: [item] });
}

/** How many messages the process was asked to accept. */
async function messagesAt(process: ServiceProcess): Promise<number> {
  const text = await (await fetch(`${process.opsUrl}/metrics`)).text();
  const counts = [...text.matchAll(/^grpc_server_seconds_count\{[^}]*method="StartAnswer"[^}]*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

test('a replica that alone does not reach credits gets no messages', async () => {
  const cutOff = agents[1] as ServiceProcess;
  await until('it gets messages', async () => {
    await send();
    return (await messagesAt(cutOff)) > 0;
  });
  await proxy.close();
  await until('it gets none', async () => {
    const before = await messagesAt(cutOff);
    for (let count = 0; count < inARow; count += 1) await send();
    return (await messagesAt(cutOff)) === before;
  });
});
