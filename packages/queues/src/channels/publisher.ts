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

/** Publishes what one turn of the event loop has for a channel as one message. */
export function createPublisher<Message>(process: ProcessContext, redis: RedisConnections): Publisher<Message> {
  const name = randomUUID();
  const numberOf = createNumbering();
  const { lost } = queueMetrics(process);
  let pending = new Map<string, Message[]>();

  function flush(): void {
    const sent = pending;
    pending = new Map();
    const parcels = [...sent].map(([channel, messages]) => ({
      channel,
      text: JSON.stringify([name, numberOf(channel), messages] satisfies Parcel<Message>),
      count: messages.length,
    }));
    void publishAll(redis.commands, parcels, (count) => lost.inc(count));
  }

  return {
    publish(channel, message) {
      const messages = pending.get(channel);
      if (messages) return void messages.push(message);
      if (pending.size === 0) setImmediate(flush);
      pending.set(channel, [message]);
    },
  };
}
