import type { ProcessContext } from '@agent-service/runtime';
import { sleep } from '@agent-service/work';
import type { Store } from '../store.ts';
import { startSweep } from '../sweep.ts';
import type { OutboxMessage } from './outbox.ts';
import { createReceiverState, type Delivery, type DeliveryDeps, deliverBatch, faultOf, idsOf } from './relay-delivery.ts';
import { type ClaimedMessage, type ClaimOptions, claimMessages, holdMessages } from './relay-store.ts';

/** A quarter of what gRPC carries in one message: a payload may grow on its way. */
const batchBytes = 2 * 1024 * 1024;
const batchMessages = 200;
/** Longer than a delivery takes: another replica goes on with what a frozen one has claimed. */
const claimMs = 10_000;
const idleMs = 1_000;
const longestPauseMs = 10_000;
const longestLanePauseMs = 30_000;
/** In how many parts a batch is delivered that failed as a whole, to find the tenant that it failed for. */
const partsAtOnce = 8;
const mostLanes = 16;
const suspectsAtOnce = 8;

export interface Relay {
  /** There is something new: do not wait for the next look. */
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
 * Carries a topic's messages from the outbox to their receiver at least once, oldest first for each tenant, the tenants in
 * turn. It never stops: a message that is refused alone is set aside, and a tenant whose messages time out while those of
 * other tenants pass gets a lane of its own. A claim ends by itself, so a relay that dies or freezes loses none.
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
    await Promise.all(this.#lanes.values());
  }

  /** Delivers one batch; answers how long to wait before the next. */
  async #round(): Promise<number> {
    const claim = await this.#claim({ after: this.#after, except: [...this.#lanes.keys()] }, this.#maxMessages);
    this.#after = claim.after;
    if (claim.messages.length > 0) {
      const suspects = claim.messages.filter(({ attempts }) => attempts > 0);
      const { rest, cause, delivered } = await this.#deliverApart(claim.messages.filter(({ attempts }) => attempts === 0));
      const pauseMs = cause !== undefined && delivered === 0 ? this.#backOff(cause, claim.messages.length) : 0;
      await this.#returnMessages(rest, pauseMs);
      await this.#deliverSuspects(suspects);
      if (pauseMs > 0) return pauseMs;
      this.#maxMessages = Math.min(batchMessages, this.#maxMessages * 2);
    }
    this.#failures = 0;
    return claim.hasMore ? 0 : idleMs;
  }

  /** Each alone, so that a message which failed alone before makes no batch fail. */
  async #deliverSuspects(suspects: Batch<Payload>): Promise<void> {
    for (let start = 0; start < suspects.length; start += suspectsAtOnce) {
      await holdMessages(this.#deps.sql, idsOf(suspects.slice(start)), this.#deps.claimMs);
      const deliveries = await Promise.all(
        suspects.slice(start, start + suspectsAtOnce).map((suspect) => deliverBatch(this.#deps, [suspect])),
      );
      await holdMessages(this.#deps.sql, idsOf(deliveries.flatMap(({ rest }) => rest)), 0);
    }
  }

  /** A message that failed alone comes after those behind it: it stays claimed for longer than the pause before the next delivery. */
  async #returnMessages(messages: Batch<Payload>, pauseMs: number): Promise<void> {
    await holdMessages(this.#deps.sql, idsOf(messages), messages.length === 1 ? 2 * pauseMs : 0);
  }

  #claim(tenants: ClaimOptions['tenants'], maxMessages: number) {
    const { sql, topic, claimMs } = this.#deps;
    return claimMessages<Payload>(sql, { topic, claimMs, maxMessages, maxBytes: batchBytes, tenants });
  }

  /** Halves the next batch too: a heavy one that takes too long would take too long again. */
  #backOff(cause: unknown, messages: number): number {
    this.#failures += 1;
    this.#maxMessages = Math.max(1, Math.floor(messages / 2));
    this.#process.logger.warn({ event: 'relay_failed', topic: this.#deps.topic, failures: this.#failures, err: cause });
    return Math.min(longestPauseMs, 100 * 2 ** Math.min(this.#failures, 10));
  }

  /** A batch that fails for the time being is delivered in parts by tenant; where some pass, the tenants of the others get lanes. */
  async #deliverApart(batch: Batch<Payload>): Promise<Delivery<Payload>> {
    const whole = await deliverBatch(this.#deps, batch);
    const isAway = whole.cause !== undefined && faultOf(whole.cause) === 'passing';
    const tenants = [...Map.groupBy(whole.rest, (message) => message.organizationId).values()];
    if (!isAway || tenants.length < 2 || this.#process.stopping.aborted) return whole;
    await holdMessages(this.#deps.sql, idsOf(whole.rest), this.#deps.claimMs);
    const parts = await Promise.all(partition(tenants).map((part) => deliverBatch(this.#deps, part.flat())));
    const delivered = whole.delivered + sum(parts.map((part) => part.delivered));
    const failed = parts.filter((part) => part.cause !== undefined);
    if (failed.length === parts.length) return { rest: failed.flatMap(({ rest }) => rest), cause: whole.cause, delivered };
    const further = await Promise.all(failed.map(({ rest }) => this.#isolate(rest)));
    return { rest: further.flat(), cause: whole.cause, delivered };
  }

  /** Others passed meanwhile, so these are slow by themselves. Answers with what is left. */
  async #isolate(messages: Batch<Payload>): Promise<Batch<Payload>> {
    const tenants = [...Map.groupBy(messages, (message) => message.organizationId).entries()];
    if (tenants.length === 1) return this.#openLane(tenants[0]?.[0] ?? '', messages);
    await holdMessages(this.#deps.sql, idsOf(messages), this.#deps.claimMs);
    const left = tenants.map(async ([organizationId, own]) => {
      const { rest } = await deliverBatch(this.#deps, own);
      return rest.length > 0 ? this.#openLane(organizationId, rest) : [];
    });
    return (await Promise.all(left)).flat();
  }

  #openLane(organizationId: string, messages: Batch<Payload>): Batch<Payload> {
    if (this.#lanes.size < mostLanes && !this.#lanes.has(organizationId)) {
      this.#process.logger.warn({ event: 'relay_tenant_slow', topic: this.#deps.topic, organization_id: organizationId });
      const lane = this.#runLane(organizationId).finally(() => this.#lanes.delete(organizationId));
      this.#lanes.set(organizationId, lane);
    }
    return messages;
  }

  /** Delivers the tenant's messages in ever smaller batches, until a delivery passes or none is due. */
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

  /** Ends early when the process stops, and when nudged if that is asked for. */
  async #sleep(ms: number, untilNudged: boolean): Promise<void> {
    const timer = new AbortController();
    const slept = sleep(ms, AbortSignal.any([timer.signal, this.#process.stopping]));
    await (untilNudged ? Promise.race([slept, this.#wake.promise]) : slept);
    timer.abort();
  }
}

const lanePause = (failures: number) => Math.min(longestLanePauseMs, 500 * 2 ** Math.min(failures, 10));

/** Shuffled, so that tenants that fail together are apart the next time. */
function partition<Item>(items: readonly Item[]): Item[][] {
  const shuffled = items.map((item) => ({ item, order: Math.random() })).sort((a, b) => a.order - b.order);
  const parts = Array.from({ length: Math.min(partsAtOnce, items.length) }, (): Item[] => []);
  for (const [index, { item }] of shuffled.entries()) parts[index % parts.length]?.push(item);
  return parts;
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const everyMs = 15_000;
/** Counting stops here, so that its cost does not grow with a backlog. */
const mostCounted = 10_000;

interface Measured {
  waiting: number;
  waitingSeconds: number;
  dead: number;
  deadSeconds: number;
}

const statement = `
  select (select count(*)::int from (select 1 from outbox where topic = $1 limit ${mostCounted}) as counted) as waiting,
    coalesce((select extract(epoch from now() - created_at)::float8 from outbox where topic = $1 order by topic, id limit 1), 0) as "waitingSeconds",
    (select count(*)::int from (select 1 from dead_letters where topic = $1 limit ${mostCounted}) as counted) as dead,
    coalesce((select extract(epoch from now() - dead_at)::float8 from dead_letters where topic = $1 order by topic, dead_at limit 1), 0)
      as "deadSeconds"`;

/** Tells by metrics how much a topic has waiting and set aside (at most 10,000 are counted), and how old the oldest is. */
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

/** A process may have a relay for each of several topics: they share their metrics. */
function gaugeOf({ metrics }: ProcessContext, name: string, help: string): Gauge {
  return (metrics.registry.getSingleMetric(name) as Gauge | undefined) ?? metrics.gauge(name, help, ['topic']);
}
