import { randomUUID } from 'node:crypto';
import {
  type CallContext,
  type Client,
  classifyCallFailure,
  isPublicErrorCode,
  ServiceError,
  tenantOf,
  withCall,
} from '@agent-service/contracts';
import { type Logger, processClock } from '@agent-service/runtime';
import { createBatcher } from '@agent-service/work';

type Agents = Client<'agents'>;
export type MessageItem = NonNullable<Parameters<Agents['startAnswer']>[0]['items']>[number] & {
  agentId: string;
  answerId: string;
  message: string;
  contextJson: string;
};
type Result = Awaited<ReturnType<Agents['startAnswer']>>['results'][number];
export type StartedAnswer = NonNullable<Result['started']>;

const maxItems = 200;
const concurrency = 4;
const limitMs = 5_000;
const cancelLimitMs = 5_000;
/** A call carries 8 MB, and a character takes up to three bytes; the rest is for what else an item has. */
const maxCharacters = 2_000_000;

/** A message on its way to agents. */
export interface OutgoingMessage {
  readonly item: MessageItem;
  readonly call: CallContext;
  /** Aborted when the caller disconnects: a message that was not sent by then is not sent. */
  readonly disconnected: AbortSignal;
  /** When the caller's request times out, by `performance.now()`. */
  readonly expiresAt: number;
}

/**
 * Sends messages to agents in batches of one tenant. Returns the accepted answer, or throws the refusal. A caller that disconnects during the
 * acceptance does not know the message's id, so the answer is cancelled, except under an Idempotency-Key, with which the caller can repeat the
 * request.
 */
export function createMessageSender(agents: Agents, logger: Logger): (message: OutgoingMessage) => Promise<StartedAnswer> {
  const cancel = createCancel(agents, logger);
  const sentMessages = new WeakSet<OutgoingMessage>();
  const send = async (messages: OutgoingMessage[]): Promise<(StartedAnswer | Error)[]> => {
    const now = performance.now();
    const items = messages.map(({ item, expiresAt }) => ({ ...item, timeLeftMs: Math.ceil(expiresAt - now) }));
    const allCallers = abortedWithAll(messages);
    for (const message of messages) sentMessages.add(message);
    // A batch mixes requests: callers, keys and traces travel in its items.
    const context = { requestId: randomUUID(), expiresAt: now + limitMs, signal: allCallers.signal };
    try {
      const { results } = await withCall(context, () => agents.startAnswer({ items }));
      return results.map(toOutcome);
    } finally {
      allCallers.forget();
    }
  };
  const batcher = createBatcher<OutgoingMessage, StartedAnswer>({
    // Messages may have waited here while agents was slow.
    run: async (messages) => {
      const refusals = messages.map(refusalOf);
      const sendable = messages.filter((_, index) => refusals[index] === undefined);
      const outcomes = sendable.length > 0 ? await send(sendable) : [];
      const outcomeOf = new Map(sendable.map((message, index) => [message, outcomes[index]]));
      return messages.map((message, index) => refusals[index] ?? (outcomeOf.get(message) as StartedAnswer | Error));
    },
    maxItems,
    concurrency,
    classify: classifyCallFailure,
    sizeOf: ({ item: { message, contextJson } }) => message.length + contextJson.length,
    maxSize: maxCharacters,
    tenants: { of: ({ call }) => tenantOf(call), lanes: 'each' },
  });
  return async (message) => {
    const hasLeft = () => message.disconnected.aborted && !message.call.idempotency;
    try {
      const started = await batcher.add(message);
      if (hasLeft() && !started.attached) await cancel(message, { preventAcceptance: false });
      return started;
    } catch (cause) {
      // The call was cancelled together with its callers, and agents may be accepting the message.
      if (hasLeft() && sentMessages.has(message)) await cancel(message, { preventAcceptance: true });
      throw ServiceError.from(cause);
    }
  };
}

/** Ends an answer without a charge, if it has no result yet. Logs a failure only: it costs the organization an answer that no caller reads. */
const createCancel =
  (agents: Agents, logger: Logger) =>
  async (
    { item: { agentId, answerId: messageId }, call: { requestId, principal } }: OutgoingMessage,
    { preventAcceptance }: { readonly preventAcceptance: boolean },
  ): Promise<void> => {
    try {
      await withCall({ requestId, principal, expiresAt: performance.now() + cancelLimitMs }, () =>
        agents.cancelAnswer({ agentId, messageId, preventAcceptance }),
      );
    } catch (cause) {
      logger.warn({ event: 'cancelling_failed', answer_id: messageId, err: cause });
    }
  };

/** Why the message is not sent: its caller has left, or its time is over. Undefined if it can be sent. */
function refusalOf({ disconnected, expiresAt }: OutgoingMessage): ServiceError | undefined {
  if (disconnected.aborted) return new ServiceError('cancelled');
  return performance.now() >= expiresAt ? new ServiceError('deadline_exceeded') : undefined;
}

/** A signal that is aborted when all of these callers have disconnected: their call can then be cancelled. */
function abortedWithAll(messages: readonly OutgoingMessage[]): { readonly signal: AbortSignal; forget(): void } {
  const abort = new AbortController();
  let left = messages.length;
  const leave = () => {
    left -= 1;
    if (left === 0) abort.abort();
  };
  for (const { disconnected } of messages) disconnected.addEventListener('abort', leave, { once: true });
  return {
    signal: abort.signal,
    forget: () => {
      for (const { disconnected } of messages) disconnected.removeEventListener('abort', leave);
    },
  };
}

function toOutcome({ started, refusal }: Result): StartedAnswer | Error {
  if (started) return started;
  const code = refusal?.code;
  if (!refusal || !isPublicErrorCode(code))
    return new ServiceError('internal', { cause: new Error(`agents refused a message with ${code}`) });
  if (code === 'credits_exhausted') return shortOfCredits(refusal);
  return code === 'user_limit_reached' ? overUserLimit(refusal) : new ServiceError(code, { param: refusal.param });
}

type Refusal = NonNullable<Result['refusal']>;

const missing = ({ required, available }: Refusal) => `This message needs up to ${required} credits, and ${available} are left`;

const shortOfCredits = (refusal: Refusal): ServiceError =>
  new ServiceError('credits_exhausted', {
    message: `${missing(refusal)} in the organization. The operator can add credits; an administrator can lower the allocations of other users.`,
    details: { required: Number(refusal.required), available: Number(refusal.available) },
  });

/** Names the limit with what was carried over to it, when it renews, and who can change it. */
function overUserLimit(refusal: Refusal): ServiceError {
  const { required, available, monthlyLimit, usedThisMonth } = refusal;
  const at = new Date(processClock.now());
  const renewal = new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)).toISOString().slice(0, 10);
  // A refusal by a service of the release before names neither.
  const isNamed = monthlyLimit !== undefined && usedThisMonth !== undefined;
  const carriedOver = Number(refusal.carriedOver ?? 0);
  const sum = carriedOver > 0 ? `${monthlyLimit} and ${carriedOver} carried over` : monthlyLimit;
  const limit = isNamed ? `monthly limit of ${sum}, of which ${usedThisMonth} are used` : 'monthly limit';
  return new ServiceError('user_limit_reached', {
    message: `${missing(refusal)} of the user's ${limit}. It renews on ${renewal}; an administrator can raise it: PUT /v1/credits/users/{user_id}/allocation.`,
    details: {
      required: Number(required),
      available: Number(available),
      ...(isNamed && { monthly_limit: Number(monthlyLimit), used_this_month: Number(usedThisMonth) }),
      ...(carriedOver > 0 && { carried_over: carriedOver }),
    },
  });
}
