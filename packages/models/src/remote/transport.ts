import type { Readable } from 'node:stream';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { Agent, type Dispatcher } from 'undici';
import type { Endpoint } from '../models-file.ts';
import { ModelFailure } from './failure.ts';

/** `fetch` as the AI SDK calls it: always a POST with a text as its body. */
type Send = typeof globalThis.fetch;

interface Transport {
  readonly send: Send;
  close(): Promise<void>;
}

const megabyte = 1024 * 1024;
const maxAnswerBytes = 10 * megabyte;
const maxErrorBytes = 64 * 1024;
const connectTimeoutMs = 5_000;
/** Shorter than providers keep idle connections; a limit that a provider announces is used instead. */
const idleConnectionMs = 10_000;
const usedHeaders = ['content-type', 'retry-after', 'retry-after-ms'];

/**
 * HTTP to the models' providers: connections are kept open, one for each answer under way. Redirects are not followed, so that keys reach
 * only the configured address, and no compression is requested, so that a small reply cannot fill the memory. Callers set time limits by the
 * signal.
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

/** An empty value means that there is no key. */
const sentHeaders = (headers: RequestInit['headers']) =>
  Object.fromEntries([...new Headers(headers)].filter(([name, value]) => value !== '' && name !== 'accept-encoding'));

async function answerOf({ statusCode: status, headers, body }: Dispatcher.ResponseData): Promise<Response> {
  const init = { status, headers: pickHeaders(headers) };
  if (status >= 400 && status <= 599) return new Response(await readStart(body, maxErrorBytes), init);
  if (status !== 200) {
    await readStart(body, 0);
    throw new ModelFailure(status >= 300 && status < 400 ? 'denied' : 'malformed', { status });
  }
  const isStream = String(headers['content-type']).startsWith('text/event-stream');
  return new Response(isStream ? streamAll(body, maxAnswerBytes) : await readAll(body, maxAnswerBytes), init);
}

const pickHeaders = (headers: Dispatcher.ResponseData['headers']) =>
  Object.fromEntries(usedHeaders.flatMap((name) => (typeof headers[name] === 'string' ? [[name, headers[name]]] : [])));

type Chunks = AsyncIterator<Uint8Array>;

/** The whole body; one that is larger ends the connection. */
async function readAll(body: Readable, limit: number): Promise<Buffer<ArrayBuffer>> {
  const { chunks, size } = await readChunks(body, limit);
  if (size > limit) throw new ModelFailure('too_large');
  return Buffer.concat(chunks);
}

/** The start of the body; a longer body ends the connection. */
async function readStart(body: Readable, limit: number): Promise<Buffer<ArrayBuffer>> {
  const { chunks } = await readChunks(body, limit);
  return Buffer.concat(chunks).subarray(0, limit);
}

async function readChunks(body: Readable, limit: number): Promise<{ chunks: Uint8Array[]; size: number }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) break;
  }
  return { chunks, size };
}

/** The body as a stream. A body above the limit fails and ends the connection; so does a reader that cancels. */
function streamAll(body: Readable, limit: number): ReadableStream<Uint8Array> {
  const chunks: Chunks = body[Symbol.asyncIterator]();
  let size = 0;
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) return controller.close();
      size += value.length;
      if (size > limit) {
        await chunks.return?.();
        throw new ModelFailure('too_large');
      }
      controller.enqueue(value);
    },
    async cancel() {
      await chunks.return?.();
    },
  });
}

/** The AI SDK's client of an endpoint. Without a key it sends none, and reads none from the environment. */
export function languageModel(endpoint: Endpoint, apiKey: string | undefined, send: Send): LanguageModelV4 {
  const { provider, baseUrl: baseURL, model } = endpoint;
  switch (provider) {
    case 'anthropic':
      return createAnthropic({ baseURL, apiKey: apiKey ?? '', fetch: send })(model);
    case 'openai-compatible':
      return createOpenAICompatible({
        name: 'model',
        baseURL,
        includeUsage: true,
        fetch: send,
        ...(apiKey === undefined ? {} : { apiKey }),
        ...(endpoint.outputLimitParameter === 'max_tokens' ? {} : { transformRequestBody: renameLimit }),
      }).chatModel(model);
  }
}

const renameLimit = ({ max_tokens, ...body }: Record<string, unknown>) => ({ ...body, max_completion_tokens: max_tokens });
