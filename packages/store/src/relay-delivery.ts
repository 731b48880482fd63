import type { Logger } from '@agent-service/runtime';
import type { OutboxMessage } from './outbox.ts';
import { type Fault, faultOf, pauseAfter, reasonOf } from './relay-faults.ts';
import { type ClaimedMessage, holdMessages, postponeMessage, removeMessages, setMessageAside } from './relay-store.ts';
import type { Sql } from './sql.ts';

/** After so many unclear refusals in a row it is the receiver that is broken, and not message after message. */
const unclearInARow = 16;

export interface DeliveryDeps<Payload> {
  readonly sql: Sql;
  readonly topic: string;
  readonly claimMs: number;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  readonly stopping: AbortSignal;
  readonly deliver: (messages: OutboxMessage<Payload>[]) => Promise<void>;
  /** The pause before the next attempt of a message that was refused alone; undefined sets it aside. */
  readonly pauseAfter?: typeof pauseAfter;
}

export interface Delivery<Payload> {
  /** Still claimed: not delivered, because the receiver was away, busy or broken. */
  readonly rest: ClaimedMessage<Payload>[];
  /** Why there is a rest. */
  readonly cause?: unknown;
  readonly delivered: number;
}

/** Delivers a batch. One that is refused is halved until the message at fault is alone, and the others go on. */
export async function deliverBatch<Payload>(deps: DeliveryDeps<Payload>, claimed: ClaimedMessage<Payload>[]): Promise<Delivery<Payload>> {
  const pending = claimed.length > 0 ? [claimed] : [];
  const rest = () => pending.reverse().flat();
  let delivered = 0;
  let unclear = 0;
  for (let batch = pending.pop(); batch !== undefined; batch = pending.pop()) {
    const refusal = await attempt(deps, batch);
    if (refusal === undefined) {
      await removeMessages(deps.sql, idsOf(batch));
      delivered += batch.length;
      unclear = 0;
    } else {
      if (refusal.fault === 'passing' || deps.stopping.aborted) return { rest: [...batch, ...rest()], cause: refusal.cause, delivered };
      pending.push(...(await splitOrRefuse(deps, batch, refusal)));
      unclear = refusal.fault === 'unclear' ? unclear + 1 : 0;
      if (unclear >= unclearInARow) return { rest: rest(), cause: refusal.cause, delivered };
    }
    await holdMessages(deps.sql, idsOf(pending.flat()), deps.claimMs);
  }
  return { rest: [], delivered };
}

interface Refusal {
  readonly cause: unknown;
  readonly fault: Fault;
}

async function attempt<Payload>({ deliver }: DeliveryDeps<Payload>, batch: ClaimedMessage<Payload>[]): Promise<Refusal | undefined> {
  try {
    await deliver(batch.map(({ id, payload }) => ({ id, payload })));
    return undefined;
  } catch (cause) {
    return { cause, fault: faultOf(cause) };
  }
}

/** The halves of a refused batch, the first one last, because it is tried first; nothing is left of a single message. */
async function splitOrRefuse<Payload>(deps: DeliveryDeps<Payload>, batch: ClaimedMessage<Payload>[], refusal: Refusal) {
  const [first, ...others] = batch;
  if (first !== undefined && others.length === 0) await refuseMessage(deps, first, refusal);
  const middle = Math.ceil(batch.length / 2);
  return others.length === 0 ? [] : [batch.slice(middle), batch.slice(0, middle)];
}

async function refuseMessage<Payload>(
  { sql, topic, logger, pauseAfter: pauseOf = pauseAfter }: DeliveryDeps<Payload>,
  { id, organizationId, attempts }: ClaimedMessage<Payload>,
  { cause, fault }: Refusal,
): Promise<void> {
  if (fault === 'passing') return;
  const tries = attempts + 1;
  const pauseMs = pauseOf(tries, fault);
  const reason = reasonOf(cause);
  const about = { topic, message_id: id, organization_id: organizationId, attempts: tries, reason };
  if (pauseMs !== undefined) {
    await postponeMessage(sql, id, tries, pauseMs);
    return logger.warn({ event: 'outbox_message_refused', ...about, retry_ms: pauseMs });
  }
  const bytes = await setMessageAside(sql, id, tries, reason);
  if (bytes !== undefined) logger.error({ event: 'outbox_message_set_aside', ...about, bytes });
}

export const idsOf = (messages: readonly { id: string }[]): string[] => messages.map((message) => message.id);
