import { randomUUID } from 'node:crypto';
import type { ProcessContext } from '@agent-service/runtime';
import { Cluster, type Redis } from 'ioredis';
import { queueMetrics } from '../jobs/metrics.ts';
import type { RedisClient } from '../redis/clients.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { seal } from './address.ts';
import { createNumbering, type Parcel } from './sequence.ts';

interface Publisher<Message> {
  /** Never waits and never fails. A message that cannot be delivered is counted, and the next one shows the receiver the gap. */
  publish(address: string, message: Message): void;
}

/**
 * Publishes the messages of one turn of the event loop as one parcel for each channel. The next parcel waits until this one has arrived: a
 * cluster's client repeats what a node refused, and would let a later parcel overtake it.
 */
export function createPublisher<Message>(process: ProcessContext, redis: RedisConnections): Publisher<Message> {
  const name = randomUUID();
  const numberOf = createNumbering();
  const { lost } = queueMetrics(process);
  /** The messages that an address was not sent yet; an entry exists from its first message until its last parcel has arrived. */
  const pending = new Map<string, Message[]>();
  let due: string[] = [];

  function schedule(address: string): void {
    if (due.length === 0) setImmediate(flush);
    due.push(address);
  }

  function flush(): void {
    const parcels = due.map(pack);
    due = [];
    const sent = publishAll(redis.commands, parcels);
    for (const [index, { address, count }] of parcels.entries()) sent[index]?.catch(() => lost.inc(count)).finally(() => arrived(address));
  }

  function pack(address: string) {
    const messages = pending.get(address) ?? [];
    pending.set(address, []);
    const text = JSON.stringify([name, numberOf(address), messages] satisfies Parcel<Message>);
    return { address, count: messages.length, ...seal(address, text) };
  }

  function arrived(address: string): void {
    if (pending.get(address)?.length === 0) pending.delete(address);
    else schedule(address);
  }

  return {
    publish(address, message) {
      const queued = pending.get(address);
      if (queued) return void queued.push(message);
      pending.set(address, [message]);
      schedule(address);
    },
  };
}

interface SentParcel {
  readonly channel: string;
  readonly text: string;
}

/** Publishes all in one round trip; returns a promise for each. */
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
 * PUBLISH has no key, so the client would send it to any node, and messages that nodes forward arrive in any order. A script with the
 * channel as its key runs on one node for each channel, and follows the slot after a failover.
 */
function publishInCluster(cluster: Cluster, parcels: readonly SentParcel[]): Promise<unknown>[] {
  return parcels.map(({ channel, text }) => cluster.eval(publish, 1, channel, text));
}
