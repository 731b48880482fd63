import { isAway, ServiceError } from '@agent-service/contracts';
import type { Logger } from '@agent-service/runtime';
import { createBackoff, runBatch } from '@agent-service/work';
import { LRUCache } from 'lru-cache';
import type { Sql } from '../sql.ts';
import type { OutboxMessage } from './outbox.ts';
import { type ClaimedMessage, extendClaims, postponeMessage, removeMessages, setMessageAside } from './relay-store.ts';

/** After so many unclear refusals in a row the receiver is assumed to be at fault, and not each message. */
const unclearInARow = 16;
const maxLoneFailures = 1_000;

/** Tells a message that the receiver refuses from a receiver that is unavailable: the receiver accepts other messages in the meantime. */
interface ReceiverState {
  /** Deliveries that succeeded. */
  successes: number;
  /** By message id: `successes` when the message last failed alone. */
  readonly loneFailures: LRUCache<string, number>;
}

export const createReceiverState = (): ReceiverState => ({ successes: 0, loneFailures: new LRUCache({ max: maxLoneFailures }) });

export interface DeliveryDeps<Payload> {
  readonly sql: Sql;
  readonly topic: string;
  readonly claimMs: number;
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  readonly stopping: AbortSignal;
  readonly receiver: ReceiverState;
  readonly deliver: (messages: OutboxMessage<Payload>[]) => Promise<void>;
  /** The pause before the next attempt of a message that was refused alone; undefined sets it aside. */
  readonly pauseAfter?: typeof pauseAfter;
}

export interface Delivery<Payload> {
  /** Still claimed, because the receiver was unavailable or failing. */
  readonly rest: ClaimedMessage<Payload>[];
  /** Set if the receiver was unavailable or failing; `rest` is empty then if a message that failed alone was postponed. */
  readonly cause?: unknown;
  readonly delivered: number;
}

/** Delivers a batch. A refused batch is split in two until the message at fault is alone, and the others are delivered. */
export async function deliverBatch<Payload>(
  deps: DeliveryDeps<Payload>,
  claimed: readonly ClaimedMessage<Payload>[],
): Promise<Delivery<Payload>> {
  let delivered = 0;
  let unclear = 0;
  let stopped: { readonly cause: unknown; readonly left: readonly ClaimedMessage<Payload>[] } | undefined;
  const pending = await runBatch(claimed, async (batch, further) => {
    const refusal = await attempt(deps, batch);
    if (refusal === undefined) {
      await removeMessages(deps.sql, idsOf(batch));
      delivered += batch.length;
      unclear = 0;
      await extendClaims(deps.sql, idsOf(further()), deps.claimMs);
      return 'done';
    }
    const isReceiverAway = refusal.fault === 'receiver' || deps.stopping.aborted;
    const left = await refuseLone(deps, batch, refusal, isReceiverAway);
    unclear = refusal.fault === 'unclear' ? unclear + 1 : 0;
    if (isReceiverAway || unclear >= unclearInARow) {
      stopped = { cause: refusal.cause, left };
      return 'stop';
    }
    await extendClaims(deps.sql, idsOf([...left, ...further()]), deps.claimMs);
    return 'halve';
  });
  return { rest: [...(stopped?.left ?? []), ...pending], delivered, ...(stopped && { cause: stopped.cause }) };
}

interface Refusal {
  readonly cause: unknown;
  readonly fault: Fault;
  /** The receiver's successes when the attempt began. */
  readonly successesBefore: number;
}

async function attempt<Payload>(
  { deliver, receiver }: DeliveryDeps<Payload>,
  batch: readonly ClaimedMessage<Payload>[],
): Promise<Refusal | undefined> {
  const successesBefore = receiver.successes;
  try {
    await deliver(batch.map(({ id, payload }) => ({ id, payload })));
    receiver.successes += 1;
    return undefined;
  } catch (cause) {
    return { cause, fault: faultOf(cause), successesBefore };
  }
}

/**
 * Counts an attempt of a message that failed alone. If the receiver seems to be unavailable, it counts only if the receiver took other
 * messages during the attempt, or since the message last failed alone. Returns the messages that remain to be delivered.
 */
async function refuseLone<Payload>(
  deps: DeliveryDeps<Payload>,
  batch: readonly ClaimedMessage<Payload>[],
  refusal: Refusal,
  isReceiverAway: boolean,
): Promise<readonly ClaimedMessage<Payload>[]> {
  const [message, ...others] = batch;
  if (message === undefined || others.length > 0) return batch;
  if (isReceiverAway) {
    if (deps.stopping.aborted) return batch;
    const { successes, loneFailures } = deps.receiver;
    const isProven = successes > (loneFailures.get(message.id) ?? refusal.successesBefore);
    loneFailures.set(message.id, successes);
    if (!isProven) return batch;
  }
  await refuseMessage(deps, message, refusal);
  return [];
}

async function refuseMessage<Payload>(
  { sql, topic, logger, pauseAfter: pauseOf = pauseAfter }: DeliveryDeps<Payload>,
  { id, organizationId, attempts }: ClaimedMessage<Payload>,
  { cause, fault }: Refusal,
): Promise<void> {
  const tries = attempts + 1;
  const pauseMs = pauseOf(tries, fault);
  const reason = refusalReason(cause);
  const about = { topic, message_id: id, organization_id: organizationId, attempts: tries, reason };
  if (pauseMs !== undefined) {
    await postponeMessage(sql, id, tries, pauseMs);
    return logger.warn({ event: 'outbox_message_refused', ...about, retry_ms: pauseMs });
  }
  const bytes = await setMessageAside(sql, id, tries, reason);
  if (bytes !== undefined) logger.error({ event: 'outbox_message_set_aside', ...about, bytes });
}

export const idsOf = (messages: readonly { id: string }[]): string[] => messages.map((message) => message.id);

/** The reason for a failed delivery: the receiver is unavailable or busy, the message is at fault, or it can be either. */
type Fault = 'receiver' | 'message' | 'unclear';

/** Status codes with which gRPC itself refuses a call before a handler runs. */
const grpc = { resourceExhausted: 8, unimplemented: 12, unauthenticated: 16 } as const;

export function faultOf(cause: unknown): Fault {
  if (!(cause instanceof ServiceError)) return 'unclear';
  if (isAway(cause.code) || cause.code === 'rate_limited' || cause.code === 'service_forbidden') return 'receiver';
  if (cause.code !== 'internal') return 'message';
  const { code, details = '' } = (cause.cause ?? {}) as { code?: unknown; details?: string };
  // A message beyond the receiver's limit never fits; any other exhausted resource is load.
  if (code === grpc.resourceExhausted) return /larger than max/.test(details) ? 'message' : 'receiver';
  return code === grpc.unimplemented || code === grpc.unauthenticated ? 'receiver' : 'unclear';
}

const maxReasonLength = 300;

/** For operators: the kind of failure, without the message's content. */
function refusalReason(cause: unknown): string {
  if (cause instanceof ServiceError) {
    const { details } = (cause.cause ?? {}) as { details?: unknown };
    const transport = cause.code === 'internal' && typeof details === 'string' ? ` (${details})` : '';
    return `${cause.code}: ${cause.message}${transport}`.slice(0, maxReasonLength);
  }
  const { name = 'Error', code } = (cause ?? {}) as { name?: string; code?: unknown };
  return `${name}${typeof code === 'string' ? ` ${code}` : ''}`.slice(0, maxReasonLength);
}

/**
 * Attempts of a message that fails alone before it is set aside; an unclear failure may be the receiver's. The receiver's failures count
 * only while the receiver takes other messages; twelve of them take 18 minutes.
 */
const attemptsOf: Record<Fault, number> = { message: 4, unclear: 20, receiver: 12 };
const refusalPause = createBackoff({ firstMs: 1_000, maxMs: 300_000 });

/** The pause before the next attempt after this many refusals; undefined where the message is to be set aside. */
function pauseAfter(attempts: number, fault: Fault): number | undefined {
  return attempts >= attemptsOf[fault] ? undefined : refusalPause(attempts);
}
