import { Agent, type Dispatcher } from 'undici';
import { readAll, readStart, streamAll } from './body.ts';
import { ModelFailure } from './failure.ts';

/** As the AI SDK calls it: always a POST with a text as its body. */
export type Send = typeof globalThis.fetch;

export interface Transport {
  readonly send: Send;
  close(): Promise<void>;
}

const megabyte = 1024 * 1024;
const largestAnswer = 10 * megabyte;
const largestError = 64 * 1024;
const connectTimeoutMs = 5_000;
/** Shorter than providers keep idle connections; those that announce their own limit are held to it. */
const idleConnectionMs = 10_000;
const headersOfUse = ['content-type', 'retry-after', 'retry-after-ms'];

/**
 * HTTP to the models' providers: connections are kept and as many are opened as there are answers under way. Redirects are
 * not followed and no compression is asked for, so neither keys nor memory can be drawn out of it. Who calls sets the limits
 * of time by the signal.
 */
export function createTransport(): Transport {
  const agent = new Agent({
    connections: null,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: idleConnectionMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs },
  });
  let closed: Promise<void> | undefined;
  return {
    send: (url, init = {}) => send(agent, new URL(String(url)), init),
    close: () => (closed ??= agent.destroy()),
  };
}

async function send(agent: Agent, { origin, pathname, search }: URL, init: RequestInit): Promise<Response> {
  const response = await agent.request({
    origin,
    path: `${pathname}${search}`,
    method: 'POST',
    headers: sentHeaders(init.headers),
    body: String(init.body),
    signal: init.signal ?? null,
  });
  return answerOf(response);
}

/** An empty value stands for a key that there is not. */
const sentHeaders = (headers: RequestInit['headers']) =>
  Object.fromEntries([...new Headers(headers)].filter(([name, value]) => value !== '' && name !== 'accept-encoding'));

async function answerOf({ statusCode: status, headers, body }: Dispatcher.ResponseData): Promise<Response> {
  const init = { status, headers: keptHeaders(headers) };
  if (status >= 400 && status <= 599) return new Response(await readStart(body, largestError), init);
  if (status !== 200) {
    await readStart(body, 0);
    throw new ModelFailure(status >= 300 && status < 400 ? 'denied' : 'malformed', { status });
  }
  const isStream = String(headers['content-type']).startsWith('text/event-stream');
  return new Response(isStream ? streamAll(body, largestAnswer) : await readAll(body, largestAnswer), init);
}

const keptHeaders = (headers: Dispatcher.ResponseData['headers']) =>
  Object.fromEntries(headersOfUse.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])));
