import { randomUUID } from 'node:crypto';
import type { ProcessContext } from '@agent-service/runtime';
import { Cluster, type Redis } from 'ioredis';
import { queueMetrics } from '../jobs/metrics.ts';
import type { RedisClient } from '../redis/clients.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { createNumbering, type Parcel } from './sequence.ts';

export interface Publisher<Message> {
  /** Never waits and never fails: what can not be delivered is counted, and the receiver learns of the gap with what comes next. */
  publish(channel: string, message: Message): void;
}

/**
 * Publishes what one turn of the event loop has for a channel as one message. While that is on its way, what comes next is
 * gathered: a cluster's client sends again by itself what a node did not take, and would let the next pass it.
 */
export function createPublisher<Message>(process: ProcessContext, redis: RedisConnections): Publisher<Message> {
  const name = randomUUID();
  const numberOf = createNumbering();
  const { lost } = queueMetrics(process);
  /** What a channel has not been sent yet; it has an entry from its first message until nothing of it is on its way. */
  const lines = new Map<string, Message[]>();
  let due: string[] = [];

  function schedule(channel: string): void {
    if (due.length === 0) setImmediate(flush);
    due.push(channel);
  }

  function flush(): void {
    const parcels = due.map((channel) => pack(channel));
    due = [];
    for (const [index, sent] of publishAll(redis.commands, parcels).entries()) {
      const { channel, count } = parcels[index] as (typeof parcels)[number];
      sent.catch(() => lost.inc(count)).finally(() => arrived(channel));
    }
  }

  function pack(channel: string) {
    const messages = lines.get(channel) ?? [];
    lines.set(channel, []);
    return { channel, count: messages.length, text: JSON.stringify([name, numberOf(channel), messages] satisfies Parcel<Message>) };
  }

  function arrived(channel: string): void {
    if (lines.get(channel)?.length === 0) lines.delete(channel);
    else schedule(channel);
  }

  return {
    publish(channel, message) {
      const line = lines.get(channel);
      if (line) return void line.push(message);
      lines.set(channel, [message]);
      schedule(channel);
    },
  };
}

interface SentParcel {
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
