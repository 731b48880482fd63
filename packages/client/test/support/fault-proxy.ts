import { createServer, type IncomingMessage, request as open, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { type PublicErrorCode, publicErrorCodes } from '@agent-service/contracts';
import type { DocumentedAnswers } from '@agent-service/testkit';

/**
 * A fault of one request. `lost-answer`: the gateway carries it out and the connection ends, or a proxy answers with a status. `cut`: a part of the answer, and then the end. `headers`: the
 * gateway's answer with further headers, or with its limits used up for a number of seconds.
 */
type Fault =
  | { readonly kind: 'headers'; readonly set?: Readonly<Record<string, string>>; readonly usedUp?: number }
  | { readonly kind: 'lost-answer'; readonly status?: number }
  | { readonly kind: 'cut'; readonly afterText: string }
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly code?: PublicErrorCode;
      readonly headers?: Readonly<Record<string, string>>;
    };

interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** On the monotonic clock, in milliseconds. */
  readonly at: number;
}

export interface FaultProxy {
  readonly url: string;
  readonly received: ReceivedRequest[];
  /** Answers of the gateway that its OpenAPI document does not describe, each with the reason. */
  readonly undocumented: string[];
  /** The faults of the next requests to paths that end so, one each. */
  plan(pathEnd: string, ...faults: Fault[]): void;
  /** Sends requests to this address from now on. */
  target: string;
  stop(): Promise<void>;
}

/** A reverse proxy between a client and a real gateway that breaks what it is told to, and compares each whole answer of the gateway with its document. */
export async function startFaultProxy(target: string, answers: DocumentedAnswers): Promise<FaultProxy> {
  const planned: { pathEnd: string; fault: Fault }[] = [];
  const received: ReceivedRequest[] = [];
  const takeFault = (path: string) => {
    const index = planned.findIndex(({ pathEnd }) => path.endsWith(pathEnd));
    return index === -1 ? undefined : planned.splice(index, 1)[0]?.fault;
  };
  const undocumented: string[] = [];
  const check: Check = (answer) => {
    try {
      answers.check(answer);
    } catch (cause) {
      undocumented.push(String(cause));
    }
  };
  const server = createServer((incoming, outgoing) => {
    const { method = '', url = '', headers } = incoming;
    if (url === '/_plan' || url === '/_received') {
      void control(proxy, url, incoming).then((body) => outgoing.end(JSON.stringify(body)));
      return;
    }
    received.push({ method, path: url, headers, at: performance.now() });
    const fault = takeFault(url.split('?')[0] ?? '');
    if (fault?.kind === 'answer') answer(incoming, outgoing, fault);
    else forward(proxy.target, incoming, outgoing, { fault, check });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: FaultProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    undocumented,
    target,
    plan: (pathEnd, ...faults) => void planned.push(...faults.map((fault) => ({ pathEnd, fault }))),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return proxy;
}

/** For tests in another language: `POST /_plan` with a path's end and faults, and `POST /_received` for the requests since the last time. */
async function control(proxy: FaultProxy, url: string, incoming: IncomingMessage): Promise<unknown> {
  if (url === '/_received') return proxy.received.splice(0);
  const { pathEnd, faults } = JSON.parse(await text(incoming)) as { pathEnd: string; faults: Fault[] };
  proxy.plan(pathEnd, ...faults);
  return {};
}

function answer(incoming: IncomingMessage, outgoing: ServerResponse, { status, code, headers }: Extract<Fault, { kind: 'answer' }>): void {
  incoming.resume();
  const body =
    code &&
    JSON.stringify({
      error: { type: publicErrorCodes[code].type, code, message: 'Planned.', param: null, details: {} },
      meta: { request_id: 'planned' },
    });
  outgoing.writeHead(status, { 'content-type': body ? 'application/json' : 'text/html', ...headers }).end(body ?? '<h1>Bad gateway</h1>');
}

/** A limit that is used up has the names and the form that the gateway gives it. */
function changedHeaders(headers: IncomingMessage['headers'], fault: Fault | undefined): IncomingMessage['headers'] {
  if (fault?.kind !== 'headers') return headers;
  const { set, usedUp } = fault;
  const limit = String(headers['ratelimit'] ?? '').replaceAll(/r=\d+;t=\d+/g, `r=0;t=${usedUp}`);
  return { ...headers, ...(usedUp !== undefined && { ratelimit: limit }), ...set };
}

type Check = DocumentedAnswers['check'];

interface Forwarding {
  readonly fault: Fault | undefined;
  /** Gets each answer that the gateway has ended. */
  readonly check: Check;
}

function forward(target: string, incoming: IncomingMessage, outgoing: ServerResponse, { fault, check }: Forwarding): void {
  const { method = 'GET', url = '', headers } = incoming;
  const call = open(`${target}${url}`, { method, headers: { ...headers, host: new URL(target).host }, agent: false }, (response) => {
    const { statusCode: status = 500 } = response;
    let received = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk;
    });
    response.once('end', () => check({ method, path: url, status, contentType: response.headers['content-type'], text: received }));
    if (fault?.kind === 'lost-answer') {
      const { status: proxyStatus } = fault;
      response.once('end', () =>
        proxyStatus === undefined ? outgoing.socket?.destroy() : answer(incoming, outgoing, { kind: 'answer', status: proxyStatus }),
      );
      return;
    }
    outgoing.writeHead(status, changedHeaders(response.headers, fault));
    response.on('data', (chunk: string) => {
      outgoing.write(chunk);
      if (fault?.kind !== 'cut' || !received.includes(fault.afterText)) return;
      outgoing.socket?.destroy();
      call.destroy();
    });
    response.once('end', () => outgoing.end());
    response.once('error', () => outgoing.socket?.destroy());
  });
  call.on('error', () => outgoing.socket?.destroy());
  outgoing.once('close', () => call.destroy());
  incoming.pipe(call);
}
