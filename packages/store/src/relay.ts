import { setTimeout as pause } from 'node:timers/promises';
import type { ProcessContext } from '@agent-service/runtime';
import type { OutboxMessage } from './outbox.ts';
import type { Sql } from './sql.ts';
import type { Store } from './store.ts';

const batchSize = 200;
const claimSeconds = 30;
const idleMs = 1_000;
const longestPauseMs = 10_000;

export interface Relay {
  /** There is something new: do not wait for the next look. */
  nudge(): void;
}

export interface RelayOptions<Payload> {
  topic: string;
  /** Must be idempotent under the messages' ids: a message may be delivered again. */
  deliver: (messages: OutboxMessage<Payload>[]) => Promise<void>;
}

/**
 * Carries a topic's messages from the outbox to where they belong, oldest first, at least once. A claim runs out by
 * itself, so a relay that dies with messages in hand loses none of them. Stops with the process.
 */
export function startRelay<Payload>(process: ProcessContext, store: Store, { topic, deliver }: RelayOptions<Payload>): Relay {
  let wake = Promise.withResolvers<void>();
  let failures = 0;

  async function run(): Promise<void> {
    while (!process.stopping.aborted) {
      wake = Promise.withResolvers();
      const waitMs = await round();
      if (waitMs > 0) await sleep(waitMs);
    }
  }

  /** Delivers one batch; answers how long to wait before the next. */
  async function round(): Promise<number> {
    let claimed: OutboxMessage<Payload>[] = [];
    try {
      claimed = await claim<Payload>(store.sql, topic);
      if (claimed.length > 0) {
        await deliver(claimed);
        await store.sql('delete from outbox where id = any($1)', [idsOf(claimed)]);
      }
      failures = 0;
      return claimed.length === batchSize ? 0 : idleMs;
    } catch (cause) {
      failures += 1;
      process.logger.warn({ event: 'relay_failed', topic, failures, err: cause });
      await giveBack(claimed);
      return Math.min(longestPauseMs, 100 * 2 ** failures);
    }
  }

  async function giveBack(claimed: OutboxMessage<Payload>[]): Promise<void> {
    if (claimed.length === 0) return;
    await store.sql('update outbox set claimed_until = null where id = any($1)', [idsOf(claimed)]).catch((cause: unknown) => {
      process.logger.warn({ event: 'relay_claim_kept', topic, seconds: claimSeconds, err: cause });
    });
  }

  /** Ends early when nudged, unless the last round failed, and when the process stops. */
  async function sleep(ms: number): Promise<void> {
    const timer = new AbortController();
    const paused = pause(ms, undefined, { signal: AbortSignal.any([timer.signal, process.stopping]) }).catch(() => undefined);
    await (failures === 0 ? Promise.race([paused, wake.promise]) : paused);
    timer.abort();
  }

  const running = run();
  process.onStop(`relay ${topic}`, () => running);
  return { nudge: () => wake.resolve() };
}

const idsOf = (messages: readonly { id: string }[]) => messages.map((message) => message.id);

async function claim<Payload>(sql: Sql, topic: string): Promise<OutboxMessage<Payload>[]> {
  const messages = await sql<OutboxMessage<Payload>>(
    `update outbox set claimed_until = now() + interval '${claimSeconds} seconds'
     where id in (
       select id from outbox where topic = $1 and (claimed_until is null or claimed_until < now())
       order by id limit ${batchSize} for update skip locked)
     returning id, payload`,
    [topic],
  );
  return messages.sort((a, b) => (a.id < b.id ? -1 : 1));
}
