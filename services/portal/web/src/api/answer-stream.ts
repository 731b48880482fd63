import { type Environment, pause, randomKey, request } from './client.ts';
import { ApiError } from './errors.ts';

/**
 * An event of the stream. The first one, `accepted`, is the head of the reply: the message exists, and no worker may have begun its answer. Where the
 * message begins a conversation, a second `accepted` has its id.
 */
export interface StreamEvent {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

interface NewMessage {
  environment: Environment;
  agentId: string;
  conversationId: string | undefined;
  message: string;
}

/** A message under the Idempotency-Key of its answer. Sent again under this key, it attaches to that answer behind the last event that arrived. */
export interface SentMessage extends NewMessage {
  readonly key: string;
  lastId: string;
}

export const withNewKey = (message: NewMessage): SentMessage => ({ ...message, key: randomKey(), lastId: '' });

/** The service writes every 15 s. A connection that is silent for longer is lost, as that of a computer that slept. */
const silenceMs = 45_000;
const pausesMs = [300, 1_000, 2_000, 4_000, 8_000];
const lastTypes = ['completed', 'failed'];

/**
 * Sends a message, and yields the events of its answer. A connection that is lost continues where it ended: the same Idempotency-Key attaches
 * to the same answer, so that nothing is answered or charged twice. `sent` then names the last event, for a call that continues later.
 */
export async function* streamAnswer(sent: SentMessage): AsyncGenerator<StreamEvent> {
  for (let failures = 0; failures <= pausesMs.length; failures += 1) {
    if (failures > 0) await pause(pausesMs[failures - 1] ?? 0);
    for await (const event of readUntilLost(sent)) {
      sent.lastId = event.id || sent.lastId;
      if (event.type !== 'accepted') failures = 0;
      yield event;
      if (lastTypes.includes(event.type)) return;
    }
  }
  throw new ApiError(0, undefined);
}

/** The events of one connection; a refusal that another connection would get too is thrown. */
async function* readUntilLost(sent: SentMessage): AsyncGenerator<StreamEvent> {
  try {
    for await (const event of readOnce(sent)) {
      if (event.type === 'detached') return;
      yield event;
    }
  } catch (cause) {
    if (!mayContinue(cause)) throw cause;
  }
}

const mayContinue = (cause: unknown) =>
  !(cause instanceof ApiError) || cause.status === 0 || [502, 503, 504].includes(cause.status) || cause.code === 'idempotency_in_progress';

/** Aborts where nothing has arrived for too long. */
function silenceLimit() {
  const controller = new AbortController();
  const start = () => setTimeout(() => controller.abort(), silenceMs);
  let timer = start();
  const end = () => clearTimeout(timer);
  return {
    signal: controller.signal,
    end,
    restart() {
      end();
      timer = start();
    },
  };
}

async function* readOnce(sent: SentMessage) {
  const limit = silenceLimit();
  try {
    const response = await send(sent, limit.signal);
    const location = response.headers.get('content-location');
    if (location) yield* acceptedAt(location, sent);
    if (response.body) yield* readEvents(response.body, limit.restart);
  } finally {
    limit.end();
  }
}

const locateMs = 5_000;

async function* acceptedAt(location: string, { environment, conversationId, lastId }: SentMessage): AsyncGenerator<StreamEvent> {
  const accepted = { id: '', type: 'accepted', data: { message_id: location.split('/').at(-1) } };
  yield accepted;
  // An event that arrived before has told the conversation.
  if (conversationId || lastId) return;
  const message = await request(`/api/${environment}${location}`, { signal: AbortSignal.timeout(locateMs) })
    .then(async (response) => (await response.json()) as { data: { conversation_id: string } })
    .catch(() => undefined);
  if (message) yield { ...accepted, data: { ...accepted.data, conversation_id: message.data.conversation_id } };
}

async function send({ environment, agentId, conversationId, message, key, lastId }: SentMessage, signal: AbortSignal): Promise<Response> {
  return await request(`/api/${environment}/v1/agents/${encodeURIComponent(agentId)}/messages/stream`, {
    method: 'POST',
    signal,
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'idempotency-key': key,
      ...(lastId && { 'last-event-id': lastId }),
    },
    body: JSON.stringify({ message, ...(conversationId && { conversation_id: conversationId }) }),
  });
}

async function* readEvents(body: ReadableStream<Uint8Array>, onChunk: () => void): AsyncGenerator<StreamEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let buffered = '';
  try {
    while (true) {
      const { value, done } = await reader.read();
      if (done) return;
      onChunk();
      const blocks = (buffered + value).replaceAll('\r\n', '\n').split('\n\n');
      buffered = blocks.pop() ?? '';
      for (const block of blocks) {
        const event = parseEvent(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseEvent(block: string): StreamEvent | undefined {
  const fields: Record<string, string> = {};
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^([a-z]+): ?(.*)$/s.exec(line) ?? [];
    if (name) fields[name] = name === 'data' && fields.data !== undefined ? `${fields.data}\n${value}` : value;
  }
  if (fields.data === undefined) return undefined;
  return { id: fields.id ?? '', type: fields.event ?? 'message', data: JSON.parse(fields.data) as Record<string, unknown> };
}
