import { until } from '../until.ts';
import { type RedisProcess, redisFleet } from './redis-nodes.ts';

const master = 'main';
const sentinels = 3;

/** A primary with a replica, and three sentinels that watch over them. */
export interface TestSentinel {
  /** The sentinels, as REDIS_URL takes them. */
  readonly url: string;
  /** The name of the primary, for REDIS_SENTINEL_MASTER. */
  readonly master: string;
  /** Kills the primary; the replica takes over within a few seconds. */
  killPrimary(): Promise<void>;
  stop(): Promise<void>;
}

export async function testSentinel(): Promise<TestSentinel> {
  const fleet = await redisFleet();
  try {
    // Usually a primary waits 5 s for more replicas before it sends its data.
    const primary = await fleet.start({ directives: ['repl-diskless-sync-delay 0'] });
    const replica = await fleet.start({ directives: [`replicaof 127.0.0.1 ${primary.port}`] });
    await until('the replica follows', async () => (await replica.client.info('replication')).includes('master_link_status:up'));
    const watchers = await Promise.all(
      Array.from({ length: sentinels }, () => fleet.start({ sentinel: true, directives: watching(primary) })),
    );
    await until('the sentinels know each other', async () => (await Promise.all(watchers.map(knowsAll))).every(Boolean));
    const url = `redis://${watchers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
    return { url, master, killPrimary: primary.kill, stop: fleet.stop };
  } catch (cause) {
    await fleet.stop();
    throw cause;
  }
}

const watching = ({ port }: RedisProcess): string[] => [
  `sentinel monitor ${master} 127.0.0.1 ${port} 2`,
  `sentinel down-after-milliseconds ${master} 1000`,
  `sentinel failover-timeout ${master} 5000`,
];

async function knowsAll({ client }: RedisProcess): Promise<boolean> {
  const fields = (await client.call('SENTINEL', 'MASTER', master)) as string[];
  const value = (name: string) => Number(fields[fields.indexOf(name) + 1]);
  return value('num-slaves') === 1 && value('num-other-sentinels') === sentinels - 1;
}
