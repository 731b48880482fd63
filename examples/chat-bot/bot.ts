// A bot for a chat that works like Slack: the chat POSTs signed events to /events, the bot answers 200 at once and POSTs the agent's answer to CHAT_URL later.
// AGENT_SERVICE_KEY=sa_… AGENT_ID=agt_… CHAT_SECRET=… CHAT_URL=https://… node examples/chat-bot/bot.ts
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { createClient, isApiError, sendMessage } from '@agent-service/client';

const { AGENT_SERVICE_URL: baseUrl = 'http://127.0.0.1:8080', AGENT_SERVICE_KEY: auth = '', AGENT_ID: agentId = '' } = process.env;
const { CHAT_SECRET: secret = '', CHAT_URL: chatUrl = '', PORT: port = '3000' } = process.env;
if (!auth || !agentId || !secret || !chatUrl) {
  console.error('usage: AGENT_SERVICE_KEY=sa_… AGENT_ID=agt_… CHAT_SECRET=… CHAT_URL=https://… node bot.ts');
  process.exit(2);
}
const client = createClient({ baseUrl, auth });

interface ChatEvent {
  /** The same in every delivery of an event. */
  readonly event_id: string;
  readonly channel: string;
  readonly user: string;
  readonly text: string;
}

const oldestSeconds = 300;
const largestBody = 100_000;
const rememberedAtMost = 10_000;
/** The conversation of each channel, and the events that were taken. A bot that must remember them after a restart keeps them in its database. */
const conversations = new Map<string, string>();
const events = new Map<string, true>();

/** `v0=` and the HMAC of `v0:time:body`, not older than five minutes. */
function isGenuine(headers: IncomingHttpHeaders, body: string): boolean {
  const timestamp = String(headers['x-chat-request-timestamp'] ?? '');
  if (!(Math.abs(Date.now() / 1000 - Number(timestamp)) < oldestSeconds)) return false;
  const expected = `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`;
  const received = String(headers['x-chat-signature'] ?? '');
  return received.length === expected.length && timingSafeEqual(Buffer.from(received), Buffer.from(expected));
}

/** Keeps the newest entries. */
function remember<Value>(entries: Map<string, Value>, key: string, value: Value): void {
  entries.delete(key);
  entries.set(key, value);
  const [oldest] = entries.keys();
  if (entries.size > rememberedAtMost && oldest !== undefined) entries.delete(oldest);
}

/** The event's id names the message: a bot that was restarted in the middle attaches to the answer under way, and pays for it once. */
async function answer({ event_id, channel, user, text }: ChatEvent): Promise<string> {
  const conversation = conversations.get(channel);
  const message = { message: text, context: { user }, ...(conversation && { conversation_id: conversation }) };
  try {
    const reply = await sendMessage(client, agentId, message, { idempotencyKey: `chat-${event_id}` });
    remember(conversations, channel, reply.conversation_id);
    return reply.content;
  } catch (cause) {
    if (isApiError(cause)) return `I cannot answer now (${cause.code}): ${cause.message}`;
    throw cause;
  }
}

async function post(channel: string, text: string): Promise<void> {
  const body = JSON.stringify({ channel, text });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(chatUrl, { method: 'POST', headers, body, signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw new Error(`the chat answered ${response.status}`);
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) {
    body += chunk;
    if (body.length > largestBody) return undefined;
  }
  return body;
}

async function receive(request: IncomingMessage): Promise<number> {
  if (request.method !== 'POST' || request.url !== '/events') return 404;
  const body = await readBody(request);
  if (body === undefined) return 413;
  if (!isGenuine(request.headers, body)) return 401;
  const event = JSON.parse(body) as ChatEvent;
  // The chat sends an event again that was answered too late.
  if (events.has(event.event_id)) return 200;
  remember(events, event.event_id, true);
  // The chat wants its answer within seconds; the agent may need longer.
  answer(event)
    .then((text) => post(event.channel, text))
    .catch((cause: unknown) => console.error(event.event_id, cause));
  return 200;
}

createServer(async (request, response) => {
  const status = await receive(request).catch(() => 400);
  response.writeHead(status).end();
}).listen(Number(port), '127.0.0.1', () => console.log(`listening on ${port}`));
