import { randomUUID } from 'node:crypto';
import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';
import type { Redis } from 'ioredis';
import { z } from 'zod';
import { queueMetrics } from '../jobs/metrics.ts';
import { reconnectPause } from '../redis/clients.ts';
import type { RedisConnections } from '../redis/open-redis.ts';
import { addressOf, newKey, unseal } from './address.ts';
import { publishAll } from './publisher.ts';
import { createGapDetector } from './sequence.ts';

interface Channel {
  /** Its name in Redis, where everyone can read it. */
  readonly name: string;
  /** Its publishers have to know it. */
  readonly address: string;
  /** Messages may have been lost until this time (the process's clock, ms); 0 if none was. Receivers read back what they awaited then. */
  readonly lastGapAt: number;
}

interface ChannelKind<Message> {
  readonly prefix: string;
  readonly message: z.ZodType<Message>;
}

const parcel = z.tuple([z.string(), z.int(), z.array(z.unknown())]);
const startLimitMs = 2_000;

/**
 * Opens a channel of this process alone, under a random name. The messages of one publisher arrive in order. Every process that reaches Redis
 * can publish there: what is not signed with the key of the channel is dropped, and a signed message of another form counts as lost.
 */
export async function openChannel<Message>(
  process: ProcessContext,
  redis: RedisConnections,
  { prefix, message }: ChannelKind<Message>,
  onMessages: (messages: Message[]) => void,
): Promise<Channel> {
  const name = `${prefix}:${randomUUID()}`;
  const key = newKey();
  const isGap = createGapDetector();
  const { faults } = queueMetrics(process);
  let lastGapAt = 0;

  function note(cause: unknown): void {
    faults.inc({ queue: prefix, kind: 'other' });
    process.logger.error({ event: 'channel_message_failed', channel: prefix, err: cause });
  }

  function accept(received: unknown): Message[] {
    const { success, data, error } = message.safeParse(received);
    if (success) return [data];
    note(error);
    lastGapAt = process.clock.now();
    return [];
  }

  function receive(text: string): void {
    try {
      const [publisher, number, messages] = parcel.parse(JSON.parse(unseal(text, key)));
      if (isGap(publisher, number)) lastGapAt = process.clock.now();
      onMessages(messages.flatMap(accept));
    } catch (cause) {
      note(cause);
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
    address: addressOf(name, key),
    get lastGapAt() {
      return subscription.isSubscribed ? lastGapAt : process.clock.now();
    },
  };
}

interface Subscription {
  /** Messages arrive now, as far as is known. */
  readonly isSubscribed: boolean;
  /** Waits for the first subscription, at most this long. */
  first(limitMs: number): Promise<void>;
}

interface SubscriptionOptions {
  readonly name: string;
  readonly receive: (text: string) => void;
  /** Sends an empty message to this channel. */
  readonly beat: () => Promise<unknown>;
  /** Called when messages may have been lost until now. */
  readonly onGap: () => void;
}

const beatEveryMs = 1_000;
const maxMissedBeats = 4;

/**
 * Stays subscribed. Each second the channel sends itself an empty message: this detects a connection that ended silently and a node
 * that the others no longer reach, and another connection is opened.
 */
function keepSubscribed(process: ProcessContext, redis: RedisConnections, options: SubscriptionOptions): Subscription {
  const stop = new AbortController();
  const first = Promise.withResolvers<void>();
  let isSubscribed = false;
  let hasStarted = false;

  /** Resolves with the reason of the connection's end. */
  async function receiveUntilEnd(subscriber: Redis): Promise<unknown> {
    const listener = listen(subscriber, options);
    try {
      await subscriber.connect();
      await subscriber.subscribe(options.name);
      // Messages until now may be lost: their receivers have to read them back.
      if (hasStarted) options.onGap();
      if (hasStarted) process.logger.info({ event: 'channel_back', channel: options.name });
      isSubscribed = true;
      first.resolve();
      return await listener.ended;
    } catch (cause) {
      return listener.reason() ?? cause;
    } finally {
      listener.stop();
    }
  }

  async function keep(): Promise<void> {
    await redis.topology;
    let failures = 0;
    while (!stop.signal.aborted) {
      const subscriber = redis.openSubscriber();
      stop.signal.onabort = () => subscriber.disconnect();
      const reason = await receiveUntilEnd(subscriber);
      // A disconnect after the end starts a timer that nothing clears.
      if (subscriber.status !== 'end') subscriber.disconnect();
      if (stop.signal.aborted) return;
      failures = isSubscribed ? 1 : failures + 1;
      isSubscribed = false;
      options.onGap();
      if (failures === 1) process.logger.warn({ event: 'channel_gap', channel: options.name, err: reason });
      hasStarted = true;
      await sleep(reconnectPause(failures), stop.signal);
    }
  }

  keep().catch((cause: unknown) => process.logger.error({ event: 'channel_lost', channel: options.name, err: cause }));
  process.onStop(`channel ${options.name}`, async () => stop.abort());
  return {
    get isSubscribed() {
      return isSubscribed;
    },
    async first(limitMs) {
      await Promise.race([first.promise, sleep(limitMs, stop.signal)]);
      hasStarted = true;
    },
  };
}

interface Listener {
  /** Resolves with the reason when the connection has ended or fallen silent. */
  readonly ended: Promise<unknown>;
  readonly reason: () => Error | undefined;
  stop(): void;
}

function listen(subscriber: Redis, { name, receive, beat }: SubscriptionOptions): Listener {
  const { promise: ended, resolve: end } = Promise.withResolvers<unknown>();
  let reason: Error | undefined;
  let missedBeats = 0;
  subscriber.on('error', (cause: Error) => {
    reason = cause;
  });
  subscriber.once('end', () => end(reason ?? new Error('the connection has ended')));
  subscriber.on('message', (channel: string, text: string) => {
    if (channel !== name) return;
    missedBeats = 0;
    if (text !== '') receive(text);
  });
  // Counted and not timed, so that a process that was stalled itself does not blame the connection.
  const beats = setInterval(() => {
    missedBeats += 1;
    if (missedBeats > maxMissedBeats) end(new Error('the channel does not receive its own messages'));
    // A message that could not be sent does not arrive either.
    else beat().catch(() => undefined);
  }, beatEveryMs);
  return { ended, reason: () => reason, stop: () => clearInterval(beats) };
}
