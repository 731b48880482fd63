import { freePort } from '@agent-service/local/host/ports';
import type { Redis } from 'ioredis';
import { until } from '../until.ts';
import { type RedisFleet, type RedisProcess, redisFleet } from './redis-nodes.ts';

const primaries = 3;
const slots = 16_384;
const nodeTimeoutMs = 1_000;

/** Three primaries with a replica each, of which one test file may kill any. */
export interface TestRedisCluster {
  /** All nodes, as REDIS_URL takes them. */
  readonly url: string;
  /** Kills the primary that holds this key; its replica takes over within a few seconds. */
  killPrimary(key: string): Promise<void>;
  /** Moves the key's slots to the replica while both live: the old primary answers MOVED from then on. */
  failOver(key: string): Promise<void>;
  stop(): Promise<void>;
}

export async function testRedisCluster(): Promise<TestRedisCluster> {
  const fleet = await redisFleet();
  try {
    const nodes = await Promise.all(Array.from({ length: 2 * primaries }, () => startNode(fleet)));
    await join(nodes);
    return { url: `redis://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, ...faults(nodes), stop: fleet.stop };
  } catch (cause) {
    await fleet.stop();
    throw cause;
  }
}

async function startNode(fleet: RedisFleet): Promise<RedisProcess> {
  return await fleet.start({
    directives: [
      'cluster-enabled yes',
      `cluster-port ${await freePort()}`,
      `cluster-node-timeout ${nodeTimeoutMs}`,
      // However old its data, a replica takes over: what is tested is what clients make of it.
      'cluster-replica-validity-factor 0',
      'repl-diskless-sync-delay 0',
      // Nodes name a replica only when it has received something. Usually the first is a ping after 10 s.
      'repl-ping-replica-period 1',
    ],
  });
}

const busPort = async ({ client }: RedisProcess): Promise<string> => ((await client.config('GET', 'cluster-port')) as string[])[1] ?? '';

async function join(nodes: readonly RedisProcess[]): Promise<void> {
  const [first] = nodes as [RedisProcess];
  for (const [index, { client }] of nodes.entries()) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    if (index < primaries) await client.call('CLUSTER', 'ADDSLOTSRANGE', firstSlot(index), firstSlot(index + 1) - 1);
  }
  for (const node of nodes.slice(1)) await first.client.call('CLUSTER', 'MEET', '127.0.0.1', node.port, await busPort(node));
  await until('the nodes know each other', async () => (await Promise.all(nodes.map(knownNodes))).every((count) => count === nodes.length));
  for (const [index, { client }] of nodes.slice(primaries).entries()) {
    await client.call('CLUSTER', 'REPLICATE', String(await (nodes[index] as RedisProcess).client.call('CLUSTER', 'MYID')));
  }
  await until('the cluster stands', async () => (await Promise.all(nodes.map(isInService))).every(Boolean));
}

const firstSlot = (index: number) => Math.floor((slots * index) / primaries);

async function knownNodes({ client }: RedisProcess): Promise<number> {
  const lines = String(await client.call('CLUSTER', 'NODES'))
    .trim()
    .split('\n');
  return lines.filter((line) => !/handshake|noaddr/.test(line)).length;
}

async function isInService({ client }: RedisProcess): Promise<boolean> {
  const state = String(await client.call('CLUSTER', 'INFO'));
  const replication = await client.info('replication');
  const followed = replication.includes('role:master')
    ? replication.includes('state=online')
    : replication.includes('master_link_status:up');
  // Nodes learn of the replicas of others by gossip, later than of everything else.
  const complete = (await slotsBy(client)).every(([, , ...holders]) => holders.length === 2);
  return state.includes('cluster_state:ok') && followed && complete;
}

function faults(nodes: readonly RedisProcess[]): Pick<TestRedisCluster, 'killPrimary' | 'failOver'> {
  return {
    async killPrimary(key) {
      const { primary } = await holdersOf(nodes, key);
      await primary.kill();
    },
    async failOver(key) {
      const { replica } = await holdersOf(nodes, key);
      await replica.client.call('CLUSTER', 'FAILOVER');
      await until('the replica has taken over', async () => (await replica.client.info('replication')).includes('role:master'));
      await until('the old primary follows it', async () => (await Promise.all(nodes.map(isInService))).every(Boolean));
    },
  };
}

/** First and last slot of each range and the nodes that hold it, the primary first, as this node reports them. */
async function slotsBy(client: Redis): Promise<[number, number, ...[string, number][]][]> {
  return (await client.call('CLUSTER', 'SLOTS')) as [number, number, ...[string, number][]][];
}

/** The nodes that hold the key's slot, as the first node that answers reports them. */
async function holdersOf(nodes: readonly RedisProcess[], key: string): Promise<{ primary: RedisProcess; replica: RedisProcess }> {
  const { client } = nodes.find((node) => node.client.status === 'ready') as RedisProcess;
  const slot = Number(await client.call('CLUSTER', 'KEYSLOT', key));
  const [, , ...holders] = (await slotsBy(client)).find(([from, to]) => slot >= from && slot <= to) ?? [0, 0];
  const [primary, replica] = holders.map(([, port]) => nodes.find((node) => node.port === port));
  if (!primary || !replica) throw new Error(`slot ${slot} has not a primary and a replica`);
  return { primary, replica };
}
