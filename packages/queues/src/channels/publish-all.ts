import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from '../redis/clients.ts';

export interface SentParcel {
  readonly channel: string;
  readonly text: string;
}

/** Publishes them in one round trip; a promise for each. */
export function publishAll(client: RedisClient, parcels: readonly SentParcel[]): Promise<unknown>[] {
  return client instanceof Cluster ? publishInCluster(client, parcels) : publishOn(client, parcels);
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

const publish = "return redis.call('PUBLISH', KEYS[1], ARGV[1])";

/**
 * A PUBLISH names no key, so the client would send each to any node, and what nodes pass on to each other arrives in any order.
 * As a script with the channel for its key, all of one channel begin at the same node, and follow its slot after a failover.
 */
function publishInCluster(cluster: Cluster, parcels: readonly SentParcel[]): Promise<unknown>[] {
  return parcels.map(({ channel, text }) => cluster.eval(publish, 1, channel, text));
}
