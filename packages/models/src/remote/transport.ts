import type { IncomingHttpHeaders } from 'node:http';
import { StringDecoder } from 'node:string_decoder';
import { isWithin, JoinedBytes, limitInformational, parseIp, parseNetwork, tlsLimits } from '@agent-service/outbound';
import { processClock } from '@agent-service/runtime';
import { createParser } from 'eventsource-parser';
import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { Endpoint } from '../models-file.ts';
import { anthropicInterface } from './anthropic.ts';
import { type ChatRequest, type ModelInterface, type ModelOutput, messagesFor, OutputDraft, type OutputListener } from './chat.ts';
import { connectionFailure, ModelFailure, statusFailure } from './failure.ts';
import { isJsonObject, type JsonObject, parseJson } from './json.ts';
import { openaiInterface } from './openai.ts';

/** A call of a model that is under way. */
interface ModelCall {
  /** Rejects with a ModelFailure, or with the cause of the abort. */
  readonly output: Promise<ModelOutput>;
  /** Ends the call and its connection. */
  abort(cause: Error): void;
}

/** A model behind its provider's interface. */
export interface RemoteModel {
  call(request: ChatRequest, listener: OutputListener): ModelCall;
}

interface Transport {
  /** Without a key the model is called without one. */
  modelOf(endpoint: Endpoint, apiKey: string | undefined): RemoteModel;
  close(): Promise<void>;
}

const megabyte = 1024 * 1024;
const maxAnswerBytes = 10 * megabyte;
const maxErrorBytes = 64 * 1024;
const connectTimeoutMs = 5_000;
/** A server usually ends its response with the last event of a stream; some leave it open. */
const lingerMs = 1_000;
/** Shorter than providers keep idle connections; a limit that a provider announces is used instead. */
const idleConnectionMs = 10_000;

/**
 * HTTP to the models' providers: connections are kept open, one for each answer under way. Redirects are not followed, so that keys reach
 * only the configured address, and no compression is requested, so that a small reply cannot fill the memory. Callers set time limits by
 * aborting calls.
 */
export function createTransport(env: Environment): Transport {
  const agents = createAgents(env);
  let closed: Promise<void> | undefined;
  return {
    modelOf: (endpoint, apiKey) => remoteModel(agents.agentOf(endpoint), endpoint, apiKey),
    close: () => (closed ??= agents.destroy()),
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Models on this machine are called directly, also where the environment names a proxy for everything else. */
const thisMachine = ['localhost', '127.0.0.1', '[::1]'];

interface Agents {
  agentOf(endpoint: Endpoint): Dispatcher;
  destroy(): Promise<void>;
}

function createAgents(env: Environment): Agents {
  const options = {
    connections: null,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: idleConnectionMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: connectTimeoutMs, ...tlsLimits },
  };
  const named = (name: string) => env[name.toLowerCase()] ?? env[name] ?? '';
  const [httpProxy, httpsProxy, exceptions] = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY'].map(named) as [string, string, string];
  const direct = new Agent(options);
  if (httpProxy === '' && httpsProxy === '') return { agentOf: () => direct, destroy: () => direct.destroy() };
  const noProxy = exceptions.trim() === '*' ? '*' : [exceptions, ...thisMachine].join(',');
  const proxied = new EnvHttpProxyAgent({
    ...options,
    connectTimeout: connectTimeoutMs,
    requestTls: tlsLimits,
    httpProxy,
    httpsProxy,
    noProxy,
  });
  const isException = networkTest(exceptions);
  return {
    agentOf: ({ baseUrl }) => (isException(new URL(baseUrl).hostname) ? direct : proxied),
    destroy: async () => void (await Promise.all([direct.destroy(), proxied.destroy()])),
  };
}

/** Finds addresses in the networks of NO_PROXY. The library compares its entries as texts, and so knows no networks. */
function networkTest(exceptions: string): (host: string) => boolean {
  const networks = exceptions.split(/[\s,]+/).flatMap((entry) => parseNetwork(entry) ?? []);
  return (host) => {
    const address = parseIp(host.replace(/^\[(.*)\]$/, '$1'));
    return address !== undefined && networks.some((network) => isWithin(address, network));
  };
}

const interfaces = { 'openai-compatible': openaiInterface, anthropic: anthropicInterface };

function remoteModel(agent: Dispatcher, endpoint: Endpoint, apiKey: string | undefined): RemoteModel {
  const model = interfaces[endpoint.provider](endpoint);
  const { origin, pathname } = new URL(endpoint.baseUrl + model.path);
  const headers = { 'content-type': 'application/json', 'user-agent': 'agent-service', ...model.headers(apiKey) };
  return {
    call(request, listener) {
      const draft = new OutputDraft(endpoint, request.stream ? listener.onText : () => undefined);
      const reader = request.stream ? streamReader(model, draft, listener.onProgress) : answerReader(model, draft);
      const body = JSON.stringify(model.body({ ...request, messages: messagesFor(endpoint, request.messages) }));
      return send(agent, { origin, path: pathname, method: 'POST', headers, body }, reader, draft);
    },
  };
}

/** Reads the body of an answer. Throws a ModelFailure for a body that is no answer. */
interface BodyReader {
  take(bytes: Buffer): void;
  end(): ModelOutput;
}

function answerReader(model: ModelInterface, draft: OutputDraft): BodyReader {
  const body = new JoinedBytes();
  return {
    take: (bytes) => body.add(bytes),
    end() {
      // Without a byte order mark, which is no JSON.
      model.readAnswer(parseObject(new TextDecoder().decode(body.all())), draft);
      return draft.output();
    },
  };
}

function eventReader(model: ModelInterface, draft: OutputDraft, onProgress: () => void): BodyReader {
  const decoder = new StringDecoder('utf8');
  const parser = createParser({
    onEvent({ data }) {
      if (data === '[DONE]') draft.isOver = true;
      if (draft.isOver) return;
      onProgress();
      model.readEvent(parseObject(data), draft);
    },
  });
  return {
    take: (bytes) => parser.feed(decoder.write(bytes)),
    end: () => draft.output(),
  };
}

const openingBrace = 0x7b;
/** Blanks, line breaks and the byte order mark. Servers write blank lines to keep a connection open while they work. */
const leadingBytes = new Set([...Buffer.from(' \t\r\n\ufeff')]);

/** Some servers and caches answer with one whole object, although a stream was requested. No event begins with a brace. */
function streamReader(model: ModelInterface, draft: OutputDraft, onProgress: () => void): BodyReader {
  const start = new JoinedBytes();
  let reader: BodyReader | undefined;
  return {
    take(bytes) {
      if (reader) return reader.take(bytes);
      start.add(bytes);
      const first = bytes.find((byte) => !leadingBytes.has(byte));
      if (first === undefined) return;
      reader = first === openingBrace ? answerReader(model, draft) : eventReader(model, draft, onProgress);
      reader.take(start.all());
    },
    end: () => reader?.end() ?? draft.output(),
  };
}

function parseObject(text: string): JsonObject {
  const value = parseJson(text);
  if (isJsonObject(value)) return value;
  throw new ModelFailure('malformed', { code: 'no_json_object' });
}

/** Sends a request by undici's dispatch, because a stream and an abort signal for each call cost as much as the call. */
function send(agent: Dispatcher, options: Dispatcher.DispatchOptions, reader: BodyReader, draft: OutputDraft): ModelCall {
  const { promise: output, resolve, reject } = Promise.withResolvers<ModelOutput>();
  const failed = new JoinedBytes();
  const countInformational = limitInformational();
  let response: { status: number; headers: IncomingHttpHeaders } | undefined;
  let size = 0;
  let running: Dispatcher.DispatchController | undefined;
  let aborted: Error | undefined;
  let lingering: NodeJS.Timeout | undefined;

  function abort(cause: Error): void {
    aborted ??= cause;
    reject(cause);
    running?.abort(cause);
  }

  /** Ends the call with the error of a work that failed. */
  function attempt(work: () => void): void {
    try {
      work();
    } catch (cause) {
      abort(cause as Error);
    }
  }

  function take(status: number, bytes: Buffer): void {
    size += bytes.length;
    if (status !== 200) {
      failed.add(bytes);
      if (size > maxErrorBytes) throw failureOf(status);
    } else {
      if (size > maxAnswerBytes) throw new ModelFailure('too_large');
      reader.take(bytes);
      if (!draft.isOver || lingering) return;
      resolve(reader.end());
      lingering = setTimeout(() => running?.abort(new Error('the server left its response open')), lingerMs).unref();
    }
  }

  const failureOf = (status: number) =>
    statusFailure({ status, headers: response?.headers ?? {}, body: failed.all().toString() }, processClock.now());

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      running = controller;
      if (aborted) controller.abort(aborted);
    },
    onResponseStart(controller, status, headers) {
      if (status < 200) return countInformational(controller);
      response = { status, headers };
      // Redirects and answers of other kinds end the connection without being read.
      if (status !== 200 && status < 400) abort(failureOf(status));
    },
    onResponseData(_controller, bytes) {
      if (!aborted) attempt(() => take(response?.status ?? 0, bytes));
    },
    onResponseEnd() {
      clearTimeout(lingering);
      if (lingering) return;
      attempt(() => (response?.status === 200 ? resolve(reader.end()) : reject(failureOf(response?.status ?? 0))));
    },
    onResponseError: (_controller, cause) => reject(connectionFailure(cause, response !== undefined)),
  };
  try {
    agent.dispatch(options, handler);
  } catch (cause) {
    reject(connectionFailure(cause, false));
  }
  return { output, abort };
}
