import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';

// The receivers of the benchmark, all behind one address: they answer 200 at once, and below /hang never. GET /counts returns the number of
// requests of each and the time since their events were sent to the service.

const counts = { fast: 0, hanging: 0 };
let latenciesMs: number[] = [];

const server = createServer(
  { key: process.env['RECEIVER_KEY'], cert: process.env['RECEIVER_CERT'], keepAliveTimeout: 120_000 },
  (request, response) => {
    if (request.method === 'GET') {
      response.end(JSON.stringify({ ...counts, latenciesMs }));
      latenciesMs = [];
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url?.startsWith('/hang')) {
        counts.hanging += 1;
        return;
      }
      counts.fast += 1;
      const sentAt = /"sent_at":(\d+)/.exec(Buffer.concat(chunks).toString())?.[1];
      latenciesMs.push(Date.now() - Number(sentAt));
      response.end('ok');
    });
  },
);

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
