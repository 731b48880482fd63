import { randomUUID } from 'node:crypto';
import type { ProcessContext } from '@agent-service/runtime';
import { queueMetrics } from '../jobs/metrics.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { publishAll } from './publish-all.ts';
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
