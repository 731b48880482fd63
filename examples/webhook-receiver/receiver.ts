// Receives webhooks: WEBHOOK_SECRET=whsec_… node receiver.ts. It listens on PORT (3000), behind a proxy that ends TLS.
import { createServer, type IncomingMessage } from 'node:http';
import { verifyWebhook, WebhookVerificationError } from '@agent-service/client';

const { WEBHOOK_SECRET: secrets = '', PORT = '3000' } = process.env;
if (!secrets) {
  console.error('usage: WEBHOOK_SECRET=whsec_… node receiver.ts');
  process.exit(2);
}
const largestBody = 1_000_000;
/** An event may come twice under one id. Keep the ids of a day where a restart does not lose them. */
const receivedIds = new Set<string>();

async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > largestBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

async function receive(request: IncomingMessage): Promise<number> {
  const body = await readBody(request);
  if (body === undefined) return 413;
  try {
    const event = await verifyWebhook({ body, headers: request.headers }, { secrets });
    if (receivedIds.has(event.id)) return 204;
    receivedIds.add(event.id);
    console.log(event.type, JSON.stringify(event.data));
    return 204;
  } catch (cause) {
    if (cause instanceof WebhookVerificationError) return 400;
    throw cause;
  }
}

createServer(async (request, response) => {
  const status = await receive(request).catch(() => 500);
  response.writeHead(status).end();
}).listen(Number(PORT), '127.0.0.1', () => console.log(`listening on ${PORT}`));
