import {
  type AnswerMessage,
  type AnswerRecord,
  type CallContext,
  newId,
  requirePrincipal,
  ServiceError,
  tenantOf,
} from '@agent-service/contracts';
import type { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import { traceHeaders } from '@agent-service/runtime';
import { AnswerStream, type StreamPosition } from './answer-stream.ts';
import type { MessageItem, OutgoingMessage, StartedAnswer } from './send-messages.ts';
import {
  type AnswerKey,
  type AnswerState,
  answerDeletedError,
  failureOf,
  type Waiter,
  type WaiterRegistry,
  waitLimitError,
} from './waiters.ts';

/** A message of a caller to an agent, before it is accepted. */
export interface NewMessage {
  readonly agentId: string;
  readonly conversationId: string;
  readonly message: string;
  /** A JSON object, or empty. */
  readonly contextJson: string;
}

/** A message that was accepted, and the stream of its answer. */
interface StreamedAnswer {
  readonly started: StartedAnswer;
  readonly stream: AnswerStream;
}

/** Sends messages and waits for their answers. */
export interface Answers {
  /** Waits for the answer, up to the wait limit. */
  wait(newMessage: NewMessage, call: CallContext, disconnected: AbortSignal): Promise<AnswerMessage>;
  /** Waits for the acceptance only, and returns the message with its status. */
  accept(newMessage: NewMessage, call: CallContext, disconnected: AbortSignal): Promise<AnswerMessage>;
  /** Waits for the acceptance; the stream writes the answer. */
  stream(newMessage: NewMessage, call: CallContext, disconnected: AbortSignal, ids?: StreamIds): Promise<StreamedAnswer>;
  /** Waits until an answer of the caller's tenant has ended or was deleted, or these seconds are over. */
  waitUntilEnded(answerId: string, call: CallContext, seconds: number, disconnected: AbortSignal): Promise<void>;
  /** The longest wait for an answer. */
  readonly maxWaitSeconds: number;
}

/** A stream whose events have ids, and the position where its reader continues. */
interface StreamIds {
  readonly resumeFrom: StreamPosition | undefined;
}

interface AnswersDeps {
  readonly send: (message: OutgoingMessage) => Promise<StartedAnswer>;
  readonly read: (key: AnswerKey) => Promise<AnswerState>;
  /** Reads the record of an answer; null if it cannot be read. Never fails. */
  readonly readRecord: (key: AnswerKey) => Promise<AnswerRecord | null>;
  readonly waits: WaiterRegistry;
  readonly bufferedBytes: BufferedBytes;
  /** The channel on which this process listens for replies. */
  readonly replyChannel: string;
  readonly waitMs: number;
  /** A monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** The time of day by the clock that deadlines of answers follow. */
  readonly timeOfDay: () => number;
}

/** How long a message may take to be accepted. */
const acceptWithinMs = 10_000;
/** Time after the answer's deadline in which the notice of it can arrive. */
const deadlineGraceMs = 10_000;

type End = { readonly message: AnswerMessage } | { readonly reason: 'expired' | 'deleted' | 'disconnected' };

export function createAnswers(deps: AnswersDeps): Answers {
  const { send, read, waits, replyChannel, waitMs, now, timeOfDay } = deps;
  const sendItem = (item: MessageItem, call: CallContext, disconnected: AbortSignal) =>
    send({ item, call, disconnected, expiresAt: performance.now() + acceptWithinMs });

  /** Listens for replies before the message is sent, so that none is missed. */
  async function listenAndSend(
    item: MessageItem,
    call: CallContext,
    disconnected: AbortSignal,
    waiter: Waiter,
    deadlineOf: (started: StartedAnswer) => number,
  ) {
    const wait = waits.open(keyOf(call, item.answerId), waiter);
    try {
      const started = await sendItem(item, call, disconnected);
      if (started.attached) call.onReplayed?.();
      wait.accepted(started.answerId, { dueAtMs: deadlineOf(started), mayHaveEnded: started.attached });
      return { started, wait };
    } catch (cause) {
      wait.close();
      throw cause;
    }
  }

  return {
    async wait(newMessage, call, disconnected) {
      const { waiter, ended } = createEndWaiter(disconnected);
      const item = itemOf(newMessage, call, replyChannel, false);
      const { started, wait } = await listenAndSend(item, call, disconnected, waiter, () => now() + waitMs);
      const end = await ended;
      wait.close();
      return messageOf(end, started);
    },
    async accept(newMessage, call, disconnected) {
      const item = itemOf(newMessage, call, '', false);
      const started = await sendItem(item, call, disconnected);
      if (!started.attached) return queuedMessage(newMessage, started);
      call.onReplayed?.();
      const { message } = await read(keyOf(call, started.answerId));
      if (!message) throw answerDeletedError({ messageId: started.answerId, conversationId: started.conversationId });
      return message;
    },
    waitUntilEnded: createWait({ waits, now }),
    maxWaitSeconds: waitMs / 1_000,
    async stream(newMessage, call, disconnected, ids) {
      const stream = createStream(deps, call, ids);
      const item = itemOf(newMessage, call, replyChannel, true);
      const deadlineOf = ({ deadlineMs, attached }: StartedAnswer) => {
        const leftMs = Number(deadlineMs) - timeOfDay();
        // A repeat may come long after the deadline, and has to read the answer first.
        return now() + (attached ? Math.max(0, leftMs) : leftMs) + deadlineGraceMs;
      };
      const { started, wait } = await listenAndSend(item, call, disconnected, stream, deadlineOf);
      const close = () => wait.close();
      disconnected.addEventListener('abort', close, { once: true });
      stream.onClose(close);
      if (disconnected.aborted) wait.close();
      return { started, stream };
    },
  };
}

function createStream({ readRecord, bufferedBytes, now }: AnswersDeps, call: CallContext, ids: StreamIds | undefined): AnswerStream {
  return new AnswerStream({
    requestId: call.requestId,
    now,
    readRecord: (answerId) => readRecord(keyOf(call, answerId)),
    bufferedBytes,
    organizationId: requirePrincipal(call).organizationId,
    hasIds: ids !== undefined,
    resumeFrom: ids?.resumeFrom,
  });
}

/** Waits for the end of an answer, or until its caller disconnects. */
function createEndWaiter(disconnected: AbortSignal): { readonly waiter: Waiter; readonly ended: Promise<End> } {
  const { promise: ended, resolve } = Promise.withResolvers<End>();
  const leave = () => resolve({ reason: 'disconnected' });
  disconnected.addEventListener('abort', leave, { once: true });
  if (disconnected.aborted) leave();
  const take: Waiter['take'] = (reply) => reply.kind === 'ended' && resolve({ message: reply.message });
  return { waiter: { take, end: (reason) => resolve({ reason }) }, ended };
}

const createWait =
  ({ waits, now }: Pick<AnswersDeps, 'waits' | 'now'>): Answers['waitUntilEnded'] =>
  async (answerId, call, seconds, disconnected) => {
    const { waiter, ended } = createEndWaiter(disconnected);
    const wait = waits.open(keyOf(call, answerId), waiter);
    wait.accepted(answerId, { dueAtMs: now() + seconds * 1_000, mayHaveEnded: true });
    await ended;
    wait.close();
  };

function itemOf(newMessage: NewMessage, call: CallContext, replyChannel: string, stream: boolean): MessageItem {
  const { organizationId, environment, userId, credentialId, scopes, admin } = requirePrincipal(call);
  return {
    ...newMessage,
    principal: { organizationId, environment, userId, credentialId, scopes: [...scopes], admin },
    answerId: newId('msg'),
    replyChannel,
    stream,
    idempotencyScope: call.idempotency?.scope ?? '',
    idempotencyFingerprint: call.idempotency?.fingerprint ?? '',
    requestId: call.requestId,
    traceparent: traceHeaders()['traceparent'] ?? '',
  };
}

const keyOf = (call: CallContext, answerId: string): AnswerKey => ({ ...tenantOf(call), answerId });

function messageOf(end: End, { answerId: messageId, conversationId }: StartedAnswer): AnswerMessage {
  if ('message' in end) {
    const failure = failureOf(end.message);
    if (failure) throw failure;
    return end.message;
  }
  if (end.reason === 'disconnected') throw new ServiceError('cancelled');
  throw end.reason === 'deleted' ? answerDeletedError({ messageId, conversationId }) : waitLimitError({ messageId, conversationId });
}

/** An answer that no worker has begun. */
const queuedMessage = ({ agentId }: NewMessage, { answerId, conversationId, model, createdAt }: StartedAnswer): AnswerMessage => ({
  id: answerId,
  conversationId,
  agentId,
  role: 'assistant',
  content: '',
  contentType: 'markdown',
  creditsConsumed: 0,
  modelUsed: model,
  createdAt,
  status: 'queued',
  failure: null,
  queries: [],
  record: null,
});
