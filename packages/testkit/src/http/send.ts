import { Agent, type IncomingHttpHeaders, request } from 'node:http';

const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const limitMs = 20_000;

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

/** Sends exactly what it is told, which a client made to help would not. */
export function send(baseUrl: string, { method, path, headers = {}, body }: SentRequest): Promise<ReceivedResponse> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const call = request({ hostname, port, method, path, agent, headers: { ...length, ...headers }, timeout: limitMs }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json: <T>() => JSON.parse(text) as T });
      });
    });
    call.on('timeout', () => call.destroy(new Error(`no answer within ${limitMs} ms`)));
    call.on('error', reject);
    call.end(body);
  });
}
