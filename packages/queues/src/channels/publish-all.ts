import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from '../redis/clients.ts';

export interface SentParcel {
  readonly channel: string;
  readonly text: string;
  /** How many messages it holds. */
  readonly count: number;
}

/** Publishes them in one round trip and tells how many messages found no way. */
export async function publishAll(client: RedisClient, parcels: readonly SentParcel[], onLost: (count: number) => void): Promise<void> {
  const sent = client instanceof Cluster ? publishInCluster(client, parcels) : publishOn(client, parcels);
  const results = await Promise.allSettled(sent);
  for (const [index, { status }] of results.entries()) if (status === 'rejected') onLost(parcels[index]?.count ?? 0);
}

function publishOn(redis: Redis, parcels: readonly SentParcel[]): Promise<unknown>[] {
  const [only, ...more] = parcels;
  if (only && more.length === 0) return [redis.publish(only.channel, only.text)];
  const pipeline = redis.pipeline();
  for (const { channel, text } of parcels) pipeline.publish(channel, text);
  const all = pipeline.exec();
  return parcels.map(async (_, index) => {
    const failure = (await all)?.[index]?.[0];
    if (failure) throw failure;
  });
}

const command = 'publishFromItsSlot';
type PublishFromItsSlot = (channel: string, text: string) => Promise<unknown>;

/**
 * A PUBLISH names no key, so the client would send each to any node and they would arrive in any order. As a script with the
 * channel for its key, all of one channel take the same way, and follow its slot after a failover.
 */
function publishInCluster(cluster: Cluster, parcels: readonly SentParcel[]): Promise<unknown>[] {
  const known = cluster as Cluster & Partial<Record<typeof command, PublishFromItsSlot>>;
  if (!known[command]) cluster.defineCommand(command, { numberOfKeys: 1, lua: "return redis.call('PUBLISH', KEYS[1], ARGV[1])" });
  return parcels.map(({ channel, text }) => (known[command] as PublishFromItsSlot)(channel, text));
}
