import { request as open } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { answers } from './document.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads responses of every shape
  readonly body: any;
}

interface Ask {
  readonly method?: string;
  readonly token?: string;
  readonly json?: unknown;
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string>;
  /** The answer has no place in the document: a service fails in a way that it does not have, or the operation is switched off. */
  readonly isUndescribed?: boolean;
}

/** One request through real HTTP, with the path exactly as given. Its answer has to be one that the OpenAPI document describes. */
export function ask(
  url: string,
  path: string,
  { method = 'GET', token, json, body, headers = {}, isUndescribed = false }: Ask = {},
): Promise<Answer> {
  const sent = json === undefined ? body : JSON.stringify(json);
  const all = {
    ...(token && { authorization: `Bearer ${token}` }),
    ...(json !== undefined && { 'content-type': 'application/json' }),
    ...(sent !== undefined && { 'content-length': String(Buffer.byteLength(sent)) }),
    ...headers,
  };
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const request = open({ hostname, port, path, method, headers: all, agent: false }, async (response) => {
      const content = await text(response);
      const pairs = Object.entries(response.headersDistinct).flatMap(([name, values]) =>
        (values ?? []).map((value): [string, string] => [name, value]),
      );
      const isJson = response.headers['content-type']?.startsWith('application/json');
      try {
        const [status, contentType] = [response.statusCode ?? 0, response.headers['content-type']];
        if (!isUndescribed) answers.check({ method, path, status, contentType, text: content });
      } catch (cause) {
        reject(cause);
        return;
      }
      resolve({
        status: response.statusCode ?? 0,
        headers: new Headers(pairs),
        text: content,
        body: isJson && content !== '' ? JSON.parse(content) : undefined,
      });
    });
    request.on('error', reject);
    request.end(sent);
  });
}

/** Sends these bytes, and resolves with the bytes that arrive until the server closes the connection. */
export function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}
