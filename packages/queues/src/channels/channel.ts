import { randomUUID } from 'node:crypto';
import type { ProcessContext } from '@agent-service/runtime';
import { queueMetrics } from '../jobs/metrics.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { publishAll } from './publisher.ts';
import { createGapDetector, type Parcel } from './sequence.ts';
import { keepSubscribed } from './subscription.ts';

interface Channel {
  readonly name: string;
  /** Messages may have been lost until this time (the process's clock, ms); 0 if none was. Receivers read back what they awaited then. */
  readonly lastGapAt: number;
}

const startLimitMs = 2_000;

/** Opens a channel of this process alone, under a random name. The messages of one publisher arrive in order. */
export async function openChannel<Message>(
  process: ProcessContext,
  redis: RedisConnections,
  prefix: string,
  onMessages: (messages: Message[]) => void,
): Promise<Channel> {
  const name = `${prefix}:${randomUUID()}`;
  const isGap = createGapDetector();
  const { faults } = queueMetrics(process);
  let lastGapAt = 0;

  function receive(text: string): void {
    try {
      const [publisher, number, messages] = JSON.parse(text) as Parcel<Message>;
      if (isGap(publisher, number)) lastGapAt = process.clock.now();
      onMessages(messages as Message[]);
    } catch (cause) {
      faults.inc({ queue: prefix, kind: 'other' });
      process.logger.error({ event: 'channel_message_failed', channel: prefix, err: cause });
    }
  }

  const subscription = keepSubscribed(process, redis, {
    name,
    receive,
    beat: () => Promise.all(publishAll(redis.commands, [{ channel: name, text: '' }])),
    onGap: () => {
      lastGapAt = process.clock.now();
    },
  });
  await subscription.first(startLimitMs);
  return {
    name,
    get lastGapAt() {
      return subscription.isSubscribed ? lastGapAt : process.clock.now();
    },
  };
}
