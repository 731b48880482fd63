import { randomUUID } from 'node:crypto';
import type { ProcessContext } from '@agent-service/runtime';
import { queueMetrics } from '../jobs/metrics.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { publishAll } from './publisher.ts';
import { createGapDetector, type Parcel } from './sequence.ts';
import { keepSubscribed } from './subscription.ts';

export interface Channel {
  readonly name: string;
  /** Until when news may have been lost (by the process's clock, ms), 0 if it never was: what was awaited then should be read back. */
  readonly lastGapAt: number;
}

const startLimitMs = 2_000;

/** A channel of this process alone, under a name that nobody guesses. What one process publishes is handed over in its order. */
export async function openChannel<Message>(
  process: ProcessContext,
  redis: RedisConnections,
  prefix: string,
  onMessages: (messages: Message[]) => void,
): Promise<Channel> {
  const name = `${prefix}:${randomUUID()}`;
  const missing = createGapDetector();
  const { faults } = queueMetrics(process);
  let lastGapAt = 0;

  function receive(text: string): void {
    try {
      const [publisher, number, messages] = JSON.parse(text) as Parcel<Message>;
      if (missing(publisher, number)) lastGapAt = process.clock.now();
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
      return subscription.hears ? lastGapAt : process.clock.now();
    },
  };
}
