import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type TestCertificate, testCertificate } from './certificate.ts';

/** A request as it came in. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Raw. */
  readonly body: string;
  readonly at: number;
}

export interface ReceiverAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** `hang` never answers, `cut` closes the connection, `drip` answers 200 and never ends its body. */
export type ReceiverBehaviour = ReceiverAnswer | 'hang' | 'cut' | 'drip';

export interface Receiver {
  /** https, on 127.0.0.1; any path is listened to. */
  readonly url: string;
  readonly certificate: TestCertificate;
  readonly requests: ReceivedRequest[];
  /** How many connections were opened. */
  readonly connections: number;
  stop(): Promise<void>;
}

export type ReceiverScript = (request: ReceivedRequest) => ReceiverBehaviour | Promise<ReceiverBehaviour>;

/** A real HTTPS server that notes what it gets and answers as the script says: 200 unless told otherwise. */
export async function receiver(
  script: ReceiverScript = () => ({ status: 200 }),
  certificate: TestCertificate = testCertificate(),
): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  let connections = 0;
  const server = createServer({ key: certificate.key, cert: certificate.cert, keepAliveTimeout: 60_000 }, (incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const request: ReceivedRequest = {
        method: incoming.method ?? '',
        path: incoming.url ?? '',
        headers: incoming.headers as Record<string, string>,
        body: Buffer.concat(chunks).toString(),
        at: Date.now(),
      };
      requests.push(request);
      void Promise.resolve(script(request)).then((behaviour) => {
        if (behaviour === 'hang') return;
        if (behaviour === 'cut') return void incoming.socket.destroy();
        if (behaviour === 'drip') return void response.writeHead(200).write('x');
        response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body);
      });
    });
  });
  server.on('secureConnection', () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    certificate,
    requests,
    get connections() {
      return connections;
    },
    stop: () => close(server),
  };
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
