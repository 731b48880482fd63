import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { anthropicEvents, anthropicMessage } from './anthropic.ts';
import { chunks, completion } from './openai.ts';
import type { ChatRequest, ModelReply, TextReply, ToolsReply } from './reply.ts';

export type ModelScript = (request: ChatRequest, call: number) => ModelReply | Promise<ModelReply>;

/** A model provider whose every answer a test decides, and which remembers what it was asked. */
export interface ScriptedModel {
  /** As `base_url` of a provider, of the OpenAI interface as of the Anthropic one. */
  readonly url: string;
  /** Every request that arrived, in order. */
  readonly calls: readonly ChatRequest[];
  /** And with which headers. */
  readonly headers: readonly IncomingHttpHeaders[];
  /** Requests whose caller went away before the answer was complete. */
  readonly abandoned: number;
  /** Connections that were ever opened. */
  readonly connections: number;
  /** Sets the script from the next request on. */
  follow(script: ModelScript): void;
  stop(): Promise<void>;
}

/** How an answer looks in one of the interfaces. */
interface Dialect {
  whole(request: ChatRequest, reply: TextReply | ToolsReply, call: number): object;
  events(request: ChatRequest, reply: TextReply | ToolsReply, call: number): string[];
}

const dialects: Readonly<Record<string, Dialect>> = {
  '/v1/chat/completions': { whole: completion, events: chunks },
  '/v1/messages': { whole: anthropicMessage, events: anthropicEvents },
};

/** Answers on a free port of this machine with `POST /v1/chat/completions` and `/v1/messages`, whole or as a stream. */
export async function scriptedModel(first: ModelScript): Promise<ScriptedModel> {
  const calls: ChatRequest[] = [];
  const headers: IncomingHttpHeaders[] = [];
  let script = first;
  let abandoned = 0;
  let connections = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const dialect = dialects[request.url ?? ''];
    if (request.method !== 'POST' || !dialect) return fail(response, 404, {}, 'not found');
    const chat = (await json(request)) as ChatRequest;
    headers.push(request.headers);
    const call = calls.push(chat);
    response.on('close', () => {
      if (!response.writableFinished) abandoned += 1;
    });
    await play({ reply: await script(chat, call), dialect, request: chat, call, response });
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((cause: unknown) => response.destroy(cause instanceof Error ? cause : undefined));
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    headers,
    get abandoned() {
      return abandoned;
    },
    get connections() {
      return connections;
    },
    follow(next) {
      script = next;
    },
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

interface Scene<Reply = ModelReply> {
  reply: Reply;
  dialect: Dialect;
  request: ChatRequest;
  call: number;
  response: ServerResponse;
}

async function play(scene: Scene): Promise<void> {
  const { reply, response } = scene;
  if ('delayMs' in reply && reply.delayMs) await pause(reply.delayMs);
  switch (reply.kind) {
    case 'silence':
      return;
    case 'failure':
      return fail(response, reply.status, reply.headers ?? {}, reply.message ?? 'scripted failure');
    case 'cut':
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(reply.after);
      response.destroy();
      return;
    case 'raw':
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers }).end(reply.body);
      return;
    case 'unfinished':
      return await breakOff({ ...scene, reply });
    default:
      return await tell({ ...scene, reply });
  }
}

/** The events up to the last word; a write that is on its way goes before the end of the connection. */
async function breakOff({ reply, dialect, request, call, response }: Scene<Extract<ModelReply, { kind: 'unfinished' }>>): Promise<void> {
  const events = dialect.events(request, { kind: 'text', text: reply.text }, call);
  const sent = events.slice(0, events.findLastIndex((event) => event.includes(JSON.stringify(reply.text.split(' ').at(-1)))) + 1);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  await new Promise<void>((resolve) => response.write(sent.join(''), () => resolve()));
  if (reply.by === 'end') response.end();
  if (reply.by === 'cut') setImmediate(() => response.destroy());
}

async function tell({ reply, dialect, request, call, response }: Scene<TextReply | ToolsReply>): Promise<void> {
  if (!request.stream) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(dialect.whole(request, reply, call)));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of dialect.events(request, reply, call)) {
    if (response.destroyed) return;
    response.write(event);
    if (reply.kind === 'text' && reply.pieceDelayMs) await pause(reply.pieceDelayMs);
  }
  response.end();
}

function fail(response: ServerResponse, status: number, headers: Record<string, string>, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify({ error: { message, type: 'scripted', code: null } }));
}
