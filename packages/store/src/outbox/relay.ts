import type { ProcessContext } from '@agent-service/runtime';
import { createBackoff, sleep } from '@agent-service/work';
import type { Store } from '../store.ts';
import { startSweep } from '../sweep.ts';
import type { OutboxMessage } from './outbox.ts';
import { createReceiverState, type Delivery, type DeliveryDeps, deliverBatch, faultOf, idsOf } from './relay-delivery.ts';
import { type ClaimedMessage, type ClaimOptions, claimMessages, extendClaims, releaseClaims } from './relay-store.ts';

/** A quarter of the largest gRPC message, because a payload may grow when it is encoded. */
const batchBytes = 2 * 1024 * 1024;
const batchMessages = 200;
/** Longer than a delivery takes. Another replica then claims the messages of a frozen one. */
const claimMs = 10_000;
const idleMs = 1_000;
const batchPause = createBackoff({ firstMs: 200, maxMs: 10_000 });
const lanePause = createBackoff({ firstMs: 1_000, maxMs: 30_000 });
/** A batch that failed as a whole is divided into this many parts, to find the tenant for which it failed. */
const concurrentParts = 8;
const maxLanes = 16;
const retriedAtOnce = 8;
/** How long new messages wait for those that are retried. */
const retryWaitMs = 250;

export interface Relay {
  /** Looks for new messages at once. */
  nudge(): void;
}

export interface RelayOptions<Payload> {
  topic: string;
  /** Must be idempotent under the messages' ids: a message may be delivered again. */
  deliver: (messages: OutboxMessage<Payload>[]) => Promise<void>;
  claimMs?: number;
  pauseAfter?: NonNullable<DeliveryDeps<Payload>['pauseAfter']>;
}

type Batch<Payload> = ClaimedMessage<Payload>[];

/**
 * Sends a topic's messages to their receiver at least once, oldest first for each tenant, the tenants in turn. It never stops: a message
 * that is refused alone is set aside, and a tenant whose messages time out while those of other tenants pass gets a lane of its own. A
 * claim expires, so a relay that dies or freezes loses no message.
 */
export function startRelay<Payload>(process: ProcessContext, store: Store, options: RelayOptions<Payload>): Relay {
  const relay = new OutboxRelay(process, store, options);
  measureOutbox(process, store, options.topic);
  const running = relay.run();
  process.onStop(`relay ${options.topic}`, () => running);
  return { nudge: () => relay.nudge() };
}

class OutboxRelay<Payload> {
  readonly #process: ProcessContext;
  readonly #deps: DeliveryDeps<Payload>;
  readonly #lanes = new Map<string, Promise<void>>();
  #retrying: Promise<void> | undefined;
  #wake = Promise.withResolvers<void>();
  #failures = 0;
  #maxMessages = batchMessages;
  #after = '';

  constructor(process: ProcessContext, { sql }: Store, options: RelayOptions<Payload>) {
    this.#process = process;
    this.#deps = { sql, logger: process.logger, stopping: process.stopping, receiver: createReceiverState(), claimMs, ...options };
  }

  nudge(): void {
    this.#wake.resolve();
  }

  async run(): Promise<void> {
    while (!this.#process.stopping.aborted) {
      this.#wake = Promise.withResolvers();
      const waitMs = await this.#round().catch((cause: unknown) => this.#backOff(cause, this.#maxMessages));
      if (waitMs > 0) await this.#sleep(waitMs, this.#failures === 0);
    }
    await Promise.all([...this.#lanes.values(), this.#retrying]);
  }

  /** Delivers one batch; returns how long to wait before the next. */
  async #round(): Promise<number> {
    const claim = await this.#claim({ after: this.#after, except: [...this.#lanes.keys()] }, this.#maxMessages);
    this.#after = claim.after;
    if (claim.messages.length > 0) {
      const retried = claim.messages.filter(({ attempts }) => attempts > 0);
      const { rest, cause, delivered } = await this.#deliverInParts(claim.messages.filter(({ attempts }) => attempts === 0));
      const pauseMs = cause !== undefined && delivered === 0 ? this.#backOff(cause, claim.messages.length) : 0;
      await this.#returnMessages(rest, pauseMs);
      await this.#retry(retried);
      if (pauseMs > 0) return pauseMs;
      this.#maxMessages = Math.min(batchMessages, this.#maxMessages * 2);
    }
    this.#failures = 0;
    return claim.hasMore ? 0 : idleMs;
  }

  /** Resolves soon, also while the receiver lets messages wait that have failed before: new messages do not wait behind them. */
  async #retry(retried: Batch<Payload>): Promise<void> {
    // Messages that come while others are retried are due again when their claims end.
    if (retried.length === 0 || this.#retrying !== undefined) return;
    const { logger } = this.#process;
    this.#retrying = this.#deliverRetried(retried)
      .catch((cause: unknown) => logger.warn({ event: 'relay_failed', topic: this.#deps.topic, err: cause }))
      .finally(() => (this.#retrying = undefined));
    await Promise.race([this.#retrying, sleep(retryWaitMs)]);
  }

  /** Delivers each message alone, so that one that has failed before fails no batch. */
  async #deliverRetried(retried: Batch<Payload>): Promise<void> {
    for (let start = 0; start < retried.length && !this.#process.stopping.aborted; start += retriedAtOnce) {
      await extendClaims(this.#deps.sql, idsOf(retried.slice(start)), this.#deps.claimMs);
      const deliveries = await Promise.all(
        retried.slice(start, start + retriedAtOnce).map((message) => deliverBatch(this.#deps, [message])),
      );
      await releaseClaims(this.#deps.sql, idsOf(deliveries.flatMap(({ rest }) => rest)));
    }
  }

  /** A message that failed alone stays claimed for longer than the next pause, so that the messages behind it are delivered first. */
  async #returnMessages(messages: Batch<Payload>, pauseMs: number): Promise<void> {
    const ids = idsOf(messages);
    if (messages.length === 1) await extendClaims(this.#deps.sql, ids, 2 * pauseMs);
    else await releaseClaims(this.#deps.sql, ids);
  }

  #claim(tenants: ClaimOptions['tenants'], maxMessages: number) {
    const { sql, topic, claimMs } = this.#deps;
    return claimMessages<Payload>(sql, { topic, claimMs, maxMessages, maxBytes: batchBytes, tenants });
  }

  /** Makes the next batch smaller as well, because a batch that takes too long would do so again. */
  #backOff(cause: unknown, messages: number): number {
    this.#failures += 1;
    this.#maxMessages = Math.max(1, Math.floor(messages / 2));
    this.#process.logger.warn({ event: 'relay_failed', topic: this.#deps.topic, failures: this.#failures, err: cause });
    return batchPause(this.#failures);
  }

  /** Delivers a batch in parts by tenant if it failed as a whole; if some parts pass, the tenants of the others get lanes. */
  async #deliverInParts(batch: Batch<Payload>): Promise<Delivery<Payload>> {
    const whole = await deliverBatch(this.#deps, batch);
    const isReceiverAway = whole.cause !== undefined && faultOf(whole.cause) === 'receiver';
    const tenants = [...Map.groupBy(whole.rest, (message) => message.organizationId).values()];
    if (!isReceiverAway || tenants.length < 2 || this.#process.stopping.aborted) return whole;
    await extendClaims(this.#deps.sql, idsOf(whole.rest), this.#deps.claimMs);
    const parts = await Promise.all(partition(tenants).map((part) => deliverBatch(this.#deps, part.flat())));
    const delivered = whole.delivered + sum(parts.map((part) => part.delivered));
    const failed = parts.filter((part) => part.cause !== undefined);
    if (failed.length === parts.length) return { rest: failed.flatMap(({ rest }) => rest), cause: whole.cause, delivered };
    const further = await Promise.all(failed.map(({ rest }) => this.#isolate(rest)));
    return { rest: further.flat(), cause: whole.cause, delivered };
  }

  /** Finds the slow tenants: messages of other tenants passed in the meantime. Returns the messages that remain. */
  async #isolate(messages: Batch<Payload>): Promise<Batch<Payload>> {
    const tenants = [...Map.groupBy(messages, (message) => message.organizationId).entries()];
    if (tenants.length === 1) return this.#openLane(tenants[0]?.[0] ?? '', messages);
    await extendClaims(this.#deps.sql, idsOf(messages), this.#deps.claimMs);
    const left = tenants.map(async ([organizationId, own]) => {
      const { rest } = await deliverBatch(this.#deps, own);
      return rest.length > 0 ? this.#openLane(organizationId, rest) : [];
    });
    return (await Promise.all(left)).flat();
  }

  #openLane(organizationId: string, messages: Batch<Payload>): Batch<Payload> {
    if (this.#lanes.size < maxLanes && !this.#lanes.has(organizationId)) {
      this.#process.logger.warn({ event: 'relay_tenant_slow', topic: this.#deps.topic, organization_id: organizationId });
      const lane = this.#runLane(organizationId).finally(() => this.#lanes.delete(organizationId));
      this.#lanes.set(organizationId, lane);
    }
    return messages;
  }

  /** Delivers the tenant's messages in smaller and smaller batches, until a delivery passes or none is due. */
  async #runLane(organizationId: string): Promise<void> {
    let size = batchMessages;
    for (let failures = 1; !this.#process.stopping.aborted; failures += 1) {
      await this.#sleep(lanePause(failures), false);
      try {
        const { messages } = await this.#claim({ only: organizationId }, size);
        size = Math.max(1, messages.length >> 1);
        const { rest, cause } = await deliverBatch(this.#deps, messages);
        await this.#returnMessages(rest, lanePause(failures + 1));
        if (cause === undefined) return;
      } catch (cause) {
        this.#process.logger.warn({ event: 'relay_lane_failed', topic: this.#deps.topic, organization_id: organizationId, err: cause });
      }
    }
  }

  /** Ends early when the process stops and, with `untilNudged`, when the relay is nudged. */
  async #sleep(ms: number, untilNudged: boolean): Promise<void> {
    const timer = new AbortController();
    const slept = sleep(ms, AbortSignal.any([timer.signal, this.#process.stopping]));
    await (untilNudged ? Promise.race([slept, this.#wake.promise]) : slept);
    timer.abort();
  }
}

/** In random order, so that tenants that fail together are in different parts the next time. */
function partition<Item>(items: readonly Item[]): Item[][] {
  const shuffled = items.map((item) => ({ item, order: Math.random() })).sort((a, b) => a.order - b.order);
  const parts = Array.from({ length: Math.min(concurrentParts, items.length) }, (): Item[] => []);
  for (const [index, { item }] of shuffled.entries()) parts[index % parts.length]?.push(item);
  return parts;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const everyMs = 15_000;
/** Counting stops at this number, so that its cost does not grow with a backlog. */
const maxCounted = 10_000;

interface Measured {
  waiting: number;
  waitingSeconds: number;
  dead: number;
  deadSeconds: number;
}

const statement = `
  select (select count(*)::int from (select 1 from outbox where topic = $1 limit ${maxCounted}) as counted) as waiting,
    coalesce((select extract(epoch from now() - created_at)::float8 from outbox where topic = $1 order by topic, id limit 1), 0) as "waitingSeconds",
    (select count(*)::int from (select 1 from dead_letters where topic = $1 limit ${maxCounted}) as counted) as dead,
    coalesce((select extract(epoch from now() - dead_at)::float8 from dead_letters where topic = $1 order by topic, dead_at limit 1), 0)
      as "deadSeconds"`;

/** Measures how many messages of a topic wait or are dead letters (at most 10,000 are counted), and the age of the oldest. */
function measureOutbox(process: ProcessContext, { sql }: Pick<Store, 'sql'>, topic: string): void {
  const gauge = (name: string, help: string) => gaugeOf(process, name, help);
  const waiting = gauge('outbox_messages', 'Messages that wait to be delivered');
  const waitingSeconds = gauge('outbox_oldest_message_seconds', 'Age of the oldest message that waits to be delivered');
  const dead = gauge('outbox_dead_letters', 'Messages that their receiver refused and that were set aside');
  const deadSeconds = gauge('outbox_oldest_dead_letter_seconds', 'How long ago the oldest dead letter was set aside');
  startSweep(process, `outbox metrics ${topic}`, everyMs, async () => {
    const [row] = await sql<Measured>(statement, [topic]);
    waiting.set({ topic }, row?.waiting ?? 0);
    waitingSeconds.set({ topic }, row?.waitingSeconds ?? 0);
    dead.set({ topic }, row?.dead ?? 0);
    deadSeconds.set({ topic }, row?.deadSeconds ?? 0);
    return 0;
  });
}

type Gauge = ReturnType<ProcessContext['metrics']['gauge']>;

/** The relays of a process share their metrics. */
function gaugeOf({ metrics }: ProcessContext, name: string, help: string): Gauge {
  return (metrics.registry.getSingleMetric(name) as Gauge | undefined) ?? metrics.gauge(name, help, ['topic']);
}
