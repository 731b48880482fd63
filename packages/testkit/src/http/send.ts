import { Agent, type IncomingHttpHeaders, request } from 'node:http';

/** Requests of a tenant that get no answer must not keep those of another tenant from being sent. */
const agent = new Agent({ keepAlive: true, maxSockets: 512 });
const limitMs = 40_000;

export interface SentRequest {
  method: string;
  /** Path and query as they go on the wire: nothing is encoded, resolved or made valid. */
  path: string;
  headers?: Readonly<Record<string, string>>;
  body?: string | Buffer;
}

export interface ReceivedResponse {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body; a body that is not JSON throws. */
  json<T = Record<string, unknown>>(): T;
}

/** Why there is no answer. */
class NoAnswer extends Error {
  /** The connection was an old one, which the server may have been closing as the request left. */
  readonly raced: boolean;

  constructor({ method, path, body }: SentRequest, cause: NodeJS.ErrnoException, reused: boolean) {
    const sent = [method, path.slice(0, 500), typeof body === 'string' ? body.slice(0, 200) : body && `${body.length} bytes`];
    super(`no answer to ${sent.filter(Boolean).join(' ')}: ${cause.message}`, { cause });
    this.raced = reused && cause.code === 'ECONNRESET';
  }
}

/**
 * Sends exactly this request, which usual clients would correct. Sends it again only where a reused connection was reset, which the server
 * may have been closing.
 */
export async function send(baseUrl: string, sent: SentRequest): Promise<ReceivedResponse> {
  return await sendOnce(baseUrl, sent, agent).catch((cause: unknown) => {
    if (cause instanceof NoAnswer && cause.raced) return sendOnce(baseUrl, sent, false);
    throw cause;
  });
}

function sendOnce(baseUrl: string, sent: SentRequest, agent: Agent | false): Promise<ReceivedResponse> {
  const { method, path, headers = {}, body } = sent;
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const call = request({ hostname, port, method, path, agent, headers: { ...length, ...headers }, timeout: limitMs }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', (cause) => reject(new NoAnswer(sent, cause, false)));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: <T>() => JSON.parse(text) as T });
      });
    });
    call.on('timeout', () => call.destroy(new Error(`no answer within ${limitMs} ms`)));
    call.on('error', (cause) => reject(new NoAnswer(sent, cause, call.reusedSocket)));
    call.end(body);
  });
}
