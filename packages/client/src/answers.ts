import { type Client, fillPath, newIdempotencyKey, type RawRequest, requestHeaders } from './client.ts';
import { ApiError, ConnectionError, isApiError, TimeoutError, toApiError, toConnectionError } from './errors.ts';
import { readEvents, type ServerSentEvent } from './events.ts';
import type { AnswerStep, ListedMessage, Message, paths, ReadMessage } from './gen/api.ts';
import { type RetryOptions, retryPauseMs } from './retries.ts';
import type { CallOptions } from './types.ts';
import { type Limit, sleep, timeLimit } from './waiting.ts';

/** A message to an agent, such as `{ message: 'How much did we sell?' }`. */
export type NewMessage = paths['/v1/agents/{agent_id}/messages']['post']['requestBody']['content']['application/json'];

/** Events while an answer is made. `content` is all of its text so far, so that showing it is always right. */
export type AnswerEvent =
  /** An attempt begins; text of an earlier one is void. */
  | {
      readonly type: 'started';
      readonly messageId: string;
      readonly conversationId: string;
      readonly attempt: number;
      readonly content: '';
    }
  | { readonly type: 'delta'; readonly text: string; readonly content: string }
  | { readonly type: 'tool'; readonly tool: AnswerStep; readonly content: string }
  /** The last event: the answer is charged and stored. */
  | { readonly type: 'completed'; readonly message: ListedMessage; readonly content: string };

export interface StreamOptions extends CallOptions {
  /** The longest silence before the stream is taken up again: 45 s unless given. The service writes every 15 s. */
  readonly timeoutMs?: number;
}

const silenceMs = 45_000;
const waitSeconds = 30;
const streamPath = '/v1/agents/{agent_id}/messages/stream';

/**
 * Sends a message and yields the events of its answer. A lost connection is taken up again where it ended, on any replica and under the same
 * Idempotency-Key, so that the message is answered and charged once. A failed answer throws its error. Leaving the loop ends the reading and not the
 * answer.
 */
export async function* streamAnswer(
  client: Client,
  agentId: string,
  message: NewMessage,
  options: StreamOptions = {},
): AsyncGenerator<AnswerEvent, void, undefined> {
  const request = {
    method: 'POST',
    path: fillPath(streamPath, { path: { agent_id: agentId } }),
    body: JSON.stringify(message),
    headers: { ...requestHeaders('post', { ...options, body: message }), accept: 'text/event-stream' },
  };
  const position = new StreamPosition();
  const send = client.createSender?.() ?? (async (sent: RawRequest) => await client.send(sent));
  for (;;) {
    try {
      for await (const event of readOnce(send, request, position, options)) {
        yield event;
        if (event.type === 'completed') return;
      }
      throw new ConnectionError('The stream ended before the answer.');
    } catch (cause) {
      await pauseBeforeResuming(position, cause, { ...client.retries, ...options, maxRetries: options.maxRetries ?? client.maxRetries });
    }
  }
}

/** Throws where the stream cannot go on. */
async function pauseBeforeResuming(
  position: StreamPosition,
  cause: unknown,
  { signal, maxRetries, onRetry, ...rules }: StreamOptions & RetryOptions & { maxRetries: number },
) {
  signal?.throwIfAborted();
  const failures = position.countFailure();
  const waitMs = position.hasFailed || failures > maxRetries ? undefined : retryPauseMs(cause, failures - 1, rules);
  if (waitMs === undefined) throw cause;
  onRetry?.({ attempt: failures, waitMs, error: cause as Error });
  await sleep(waitMs, signal);
}

/** The events of one connection, from the place up to which the stream has been read. */
async function* readOnce(
  send: Client['send'],
  request: Omit<RawRequest, 'signal'>,
  position: StreamPosition,
  { timeoutMs = silenceMs, signal }: StreamOptions,
): AsyncGenerator<AnswerEvent, void, undefined> {
  const limit = timeLimit(timeoutMs, signal);
  try {
    const headers = { ...request.headers, ...(position.lastEventId !== '' && { 'last-event-id': position.lastEventId }) };
    yield* readAnswer(await send({ ...request, headers, signal: limit.signal }), position, limit);
  } finally {
    limit.release();
  }
}

async function* readAnswer(response: Response, position: StreamPosition, limit: Limit): AsyncGenerator<AnswerEvent, void, undefined> {
  try {
    if (!response.ok || !response.body) throw toApiError(response.status, response.headers, await response.text());
    for await (const event of readEvents(response.body, limit.extend)) {
      const known = position.read(event);
      if (!known) continue;
      // The time that the reader takes is no silence of the service.
      limit.pause();
      yield known;
      limit.extend();
    }
  } catch (cause) {
    throw toConnectionError(cause, limit.signal);
  }
}

/** The place up to which a stream has been read. */
class StreamPosition {
  lastEventId = '';
  /** The answer itself has failed, and the same message would be a new one. */
  hasFailed = false;
  #content = '';
  #failures = 0;
  #failedAt = '';

  /** The failures in a row without an event between them. */
  countFailure(): number {
    this.#failures = this.lastEventId === this.#failedAt ? this.#failures + 1 : 1;
    this.#failedAt = this.lastEventId;
    return this.#failures;
  }

  /** Returns the event for the reader; undefined for one that it need not know. */
  read({ event, data, id }: ServerSentEvent): AnswerEvent | undefined {
    if (id !== '') this.lastEventId = id;
    switch (event) {
      case 'started': {
        const { message_id: messageId, conversation_id: conversationId, attempt } = JSON.parse(data) as StartedData;
        this.#content = '';
        return { type: 'started', messageId, conversationId, attempt, content: '' };
      }
      case 'delta': {
        const { text } = JSON.parse(data) as { text: string };
        this.#content += text;
        return { type: 'delta', text, content: this.#content };
      }
      case 'tool':
        return { type: 'tool', tool: JSON.parse(data) as AnswerStep, content: this.#content };
      case 'completed': {
        const message = JSON.parse(data) as ListedMessage;
        return { type: 'completed', message, content: message.content };
      }
      case 'failed':
        this.hasFailed = true;
        throw failedError(data);
      default:
        // `detached` means that the stream goes on elsewhere; later versions may add events.
        return undefined;
    }
  }
}

interface StartedData {
  readonly message_id: string;
  readonly conversation_id: string;
  readonly attempt: number;
}

/** The statuses that a caller who waits for the answer gets. Neither the event nor the message names them. */
const failedStatus = 502;
const statusOfType: Readonly<Record<string, number>> = { conflict: 409, not_found: 404, internal: 500 };
const statusOfCode: Readonly<Record<string, number>> = {
  data_source_unavailable: 503,
  data_scope_empty: 503,
  answer_timeout: 504,
  unavailable: 503,
  deadline_exceeded: 503,
};

function failedError(body: string): ApiError {
  const error = toApiError(failedStatus, new Headers(), body);
  return new ApiError({ ...error, status: statusOfCode[error.code] ?? statusOfType[error.type] ?? failedStatus });
}

/** Sends a message without waiting for its answer. `waitForAnswer` gets it later. */
export async function startAnswer(client: Client, agentId: string, message: NewMessage, options: CallOptions = {}): Promise<Message> {
  const headers = { ...options.headers, prefer: 'respond-async' };
  const { data } = await client.post('/v1/agents/{agent_id}/messages', { ...options, headers, path: { agent_id: agentId }, body: message });
  return data;
}

export interface WaitOptions extends CallOptions {
  /** The longest wait for the answer in all; no limit unless given, since the service ends each answer at its deadline. */
  readonly waitMs?: number;
}

/** How much later than it may a wait ends where the service is silent: the time of the last read. */
const lastReadMs = 2_000;

/** Waits until an answer has ended. A failed or cancelled one throws. */
export async function waitForAnswer(client: Client, agentId: string, messageId: string, options: WaitOptions = {}): Promise<ReadMessage> {
  const { waitMs = Number.POSITIVE_INFINITY, ...call } = options;
  const wait = async (limited: CallOptions) => await readUntilEnded(client, { agentId, messageId, waitMs }, limited);
  return await endAfter(waitMs + lastReadMs, call, wait, () => notEnded(messageId, waitMs));
}

/** Waits no longer than the limit, also where the service is silent. */
async function endAfter<T>(limitMs: number, call: CallOptions, wait: (limited: CallOptions) => Promise<T>, late: () => Error): Promise<T> {
  const limit = timeLimit(limitMs, call.signal);
  try {
    return await wait({ ...call, signal: limit.signal });
  } catch (cause) {
    throw limit.signal.aborted && !call.signal?.aborted ? late() : cause;
  } finally {
    limit.release();
  }
}

interface AwaitedAnswer {
  readonly agentId: string;
  readonly messageId: string;
  readonly waitMs: number;
}

async function readUntilEnded(
  client: Client,
  { agentId, messageId, waitMs }: AwaitedAnswer,
  { headers, ...call }: CallOptions,
): Promise<ReadMessage> {
  const endsAt = performance.now() + waitMs;
  // A request that waits as long as its own time limit would never get its answer; one without room for a second does not wait.
  const maxSeconds = Math.min(waitSeconds, Math.floor((call.timeoutMs ?? client.timeoutMs) / 2_000));
  for (;;) {
    const leftMs = endsAt - performance.now();
    const seconds = Math.min(maxSeconds, Math.max(1, Math.ceil(leftMs / 1_000)));
    const askedAt = performance.now();
    const { data } = await client.get('/v1/agents/{agent_id}/messages/{message_id}', {
      ...call,
      headers: { ...headers, ...(seconds > 0 && { prefer: `wait=${seconds}` }) },
      path: { agent_id: agentId, message_id: messageId },
    });
    if (data.status === 'completed') return data;
    if (data.status === 'failed' || data.status === 'cancelled') throw endedError(data);
    if (performance.now() >= endsAt) throw notEnded(messageId, waitMs);
    await pauseAfter(askedAt, call.signal);
  }
}

/** A service that does not wait must not be asked without a pause. */
async function pauseAfter(askedAt: number, signal: AbortSignal | undefined): Promise<void> {
  if (performance.now() - askedAt < 500) await sleep(500, signal);
}

const notEnded = (messageId: string, waitMs: number) => new TimeoutError(`The answer ${messageId} has not ended within ${waitMs} ms.`);

function endedError({ status, content, id, error }: ReadMessage): ApiError {
  if (error) return failedError(JSON.stringify({ error }));
  // A service of an earlier version does not say why.
  const isCancelled = status === 'cancelled';
  return new ApiError({
    status: isCancelled ? 409 : failedStatus,
    code: isCancelled ? 'answer_cancelled' : 'provider_error',
    type: isCancelled ? 'conflict' : 'provider',
    field: null,
    remedy: content || (isCancelled ? 'The answer was cancelled.' : 'The answer failed. No credits were charged. Send the message again.'),
    details: { message_id: id },
    requestId: undefined,
    retryAfterSeconds: undefined,
  });
}

/**
 * Sends a message and returns its answer, however long that takes unless `waitMs` is given: where the service ends its wait, this goes on waiting, also
 * with a credential that may send messages and read none, unless `auth` is a function.
 */
export async function sendMessage(client: Client, agentId: string, message: NewMessage, options: WaitOptions = {}): Promise<Message> {
  const { waitMs, ...rest } = options;
  const call = { ...rest, idempotencyKey: rest.idempotencyKey ?? newIdempotencyKey() };
  if (waitMs === undefined) return await sendUntilEnded(client, agentId, message, call);
  // The service itself would wait longer than that.
  const endsAt = performance.now() + waitMs;
  const limit = timeLimit(waitMs + lastReadMs, call.signal);
  const { id } = await startAnswer(client, agentId, message, { ...call, signal: limit.signal }).finally(limit.release);
  const leftMs = () => Math.max(0, endsAt - performance.now());
  const answer = await readUnlessForbidden(client, agentId, id, { ...call, waitMs: leftMs() });
  if (answer) return answer;
  const wait = async (limited: CallOptions) => await sendUntilEnded(client, agentId, message, limited);
  return await endAfter(leftMs(), call, wait, () => notEnded(id, waitMs));
}

/**
 * Sends a message until its answer has ended. Under one key the service attaches each repetition to the answer of the first one. A failed answer frees its
 * key, so that reading comes first.
 */
async function sendUntilEnded(client: Client, agentId: string, message: NewMessage, call: CallOptions): Promise<Message> {
  for (;;) {
    const askedAt = performance.now();
    try {
      return (await client.post('/v1/agents/{agent_id}/messages', { ...call, path: { agent_id: agentId }, body: message })).data;
    } catch (cause) {
      const messageId = runningMessageId(cause);
      if (messageId === undefined) throw cause;
      const answer = await readUnlessForbidden(client, agentId, messageId, call);
      if (answer) return answer;
    }
    await pauseAfter(askedAt, call.signal);
  }
}

/** The message whose answer goes on, where the service has ended its wait. */
function runningMessageId(cause: unknown): string | undefined {
  const messageId = isApiError(cause, 'answer_timeout') && cause.details['status'] === 'running' ? cause.details['message_id'] : undefined;
  return typeof messageId === 'string' ? messageId : undefined;
}

/** Waits for an answer; undefined where the credential may not read it, as an end user's, and can send the message again. */
async function readUnlessForbidden(
  client: Client,
  agentId: string,
  messageId: string,
  options: WaitOptions,
): Promise<ReadMessage | undefined> {
  return await waitForAnswer(client, agentId, messageId, options).catch((cause: unknown) =>
    client.isOneCredential && isApiError(cause) && cause.status === 403 ? undefined : Promise.reject(cause),
  );
}
