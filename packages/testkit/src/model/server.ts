import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { type ChatRequest, chunks, completion, type ModelReply } from './reply.ts';

export type ModelScript = (request: ChatRequest, call: number) => ModelReply | Promise<ModelReply>;

/** A model provider whose every answer a test decides, and which remembers what it was asked. */
export interface ScriptedModel {
  /** As `base_url` of an OpenAI-compatible provider. */
  readonly url: string;
  /** Every request that arrived, in order. */
  readonly calls: readonly ChatRequest[];
  /** Requests whose caller went away before the answer was complete. */
  readonly abandoned: number;
  /** What happens from the next request on. */
  follow(script: ModelScript): void;
  stop(): Promise<void>;
}

/** Answers on a free port of this machine with `POST /v1/chat/completions`, whole or as a stream. */
export async function scriptedModel(first: ModelScript): Promise<ScriptedModel> {
  const calls: ChatRequest[] = [];
  let script = first;
  let abandoned = 0;

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST' || request.url !== '/v1/chat/completions') return fail(response, 404, {}, 'not found');
    const asked = (await json(request)) as ChatRequest;
    const call = calls.push(asked);
    response.on('close', () => {
      if (!response.writableFinished) abandoned += 1;
    });
    await play(await script(asked, call), asked, call, response);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((cause: unknown) => response.destroy(cause instanceof Error ? cause : undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    get abandoned() {
      return abandoned;
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

async function play(reply: ModelReply, request: ChatRequest, call: number, response: ServerResponse): Promise<void> {
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
    default:
      return request.stream ? stream(reply, request, call, response) : whole(completion(request, reply, call), response);
  }
}

async function stream(
  reply: Extract<ModelReply, { kind: 'text' | 'tools' }>,
  request: ChatRequest,
  call: number,
  response: ServerResponse,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const chunk of chunks(request, reply, call)) {
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    if (reply.kind === 'text' && reply.pieceDelayMs) await pause(reply.pieceDelayMs);
  }
  response.end('data: [DONE]\n\n');
}

function whole(body: object, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function fail(response: ServerResponse, status: number, headers: Record<string, string>, message: string): void {
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(JSON.stringify({ error: { message, type: 'scripted', code: null } }));
}
