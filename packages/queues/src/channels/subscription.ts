import { setTimeout as sleep } from 'node:timers/promises';
import type { ProcessContext } from '@agent-service/runtime';
import type { Redis } from 'ioredis';
import { reconnectPause } from '../redis/clients.ts';
import type { RedisConnections } from '../redis/open-redis.ts';

interface Subscription {
  /** Whether messages arrive now, as far as is known. */
  readonly hears: boolean;
  /** Waits for the first subscription, but not longer than this. */
  first(limitMs: number): Promise<void>;
}

interface SubscriptionOptions {
  readonly name: string;
  readonly receive: (text: string) => void;
  /** Sends an empty message to the own channel. */
  readonly beat: () => Promise<unknown>;
  /** Messages may have been lost, up to now. */
  readonly onGap: () => void;
}

const beatEveryMs = 1_000;
const maxUnheardBeats = 4;

/**
 * Stays subscribed. Each second the channel sends itself a word: a connection that silently ended, or a node that the others
 * no longer reach, is thereby noticed and left for another.
 */
export function keepSubscribed(process: ProcessContext, redis: RedisConnections, options: SubscriptionOptions): Subscription {
  const stop = new AbortController();
  const first = Promise.withResolvers<void>();
  let hears = false;
  let late = false;

  /** Comes back with what ended the connection. */
  async function hear(subscriber: Redis): Promise<unknown> {
    const ear = listen(subscriber, options);
    try {
      await subscriber.connect();
      await subscriber.subscribe(options.name);
      // What was said until now went unheard, and who was awaited meanwhile has to be asked.
      if (late) options.onGap();
      if (late) process.logger.info({ event: 'channel_back', channel: options.name });
      hears = true;
      first.resolve();
      return await ear.ended;
    } catch (cause) {
      return ear.reason() ?? cause;
    } finally {
      ear.stop();
    }
  }

  async function keep(): Promise<void> {
    await redis.topology;
    let failures = 0;
    while (!stop.signal.aborted) {
      const subscriber = redis.dedicated('subscriber');
      stop.signal.onabort = () => subscriber.disconnect();
      const reason = await hear(subscriber);
      subscriber.disconnect();
      if (stop.signal.aborted) return;
      failures = hears ? 1 : failures + 1;
      hears = false;
      options.onGap();
      if (failures === 1) process.logger.warn({ event: 'channel_gap', channel: options.name, err: reason });
      late = true;
      await pause(reconnectPause(failures), stop.signal);
    }
  }

  keep().catch((cause: unknown) => process.logger.error({ event: 'channel_lost', channel: options.name, err: cause }));
  process.onStop(`channel ${options.name}`, async () => stop.abort());
  return {
    get hears() {
      return hears;
    },
    async first(limitMs) {
      await Promise.race([first.promise, pause(limitMs, stop.signal)]);
      late = true;
    },
  };
}

interface Ear {
  /** Resolves with the reason when the connection has ended or fallen silent. */
  readonly ended: Promise<unknown>;
  readonly reason: () => Error | undefined;
  stop(): void;
}

function listen(subscriber: Redis, { name, receive, beat }: SubscriptionOptions): Ear {
  const { promise: ended, resolve: end } = Promise.withResolvers<unknown>();
  let reason: Error | undefined;
  let unheard = 0;
  subscriber.on('error', (cause: Error) => {
    reason = cause;
  });
  subscriber.once('end', () => end(reason ?? new Error('the connection has ended')));
  subscriber.on('message', (channel: string, text: string) => {
    if (channel !== name) return;
    unheard = 0;
    if (text !== '') receive(text);
  });
  // Counted and not timed, so that a process that was held up itself does not blame the connection.
  const beats = setInterval(() => {
    unheard += 1;
    if (unheard > maxUnheardBeats) end(new Error('the channel does not hear itself'));
    // One that could not be sent is one that is not heard.
    else beat().catch(() => undefined);
  }, beatEveryMs);
  return { ended, reason: () => reason, stop: () => clearInterval(beats) };
}

/** Ends early, without fuss, when the signal aborts. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
