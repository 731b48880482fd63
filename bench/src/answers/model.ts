import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A model provider of the OpenAI interface that takes exactly the time it is told to; the same for the product and for the floor. */
const delayMs = Number(process.env['MODEL_DELAY_MS'] ?? 0);
const text = 'The figures of the last month are complete and agree with those of the month before.';
const usage = { prompt_tokens: 40, completion_tokens: 20, total_tokens: 60 };
const head = { id: 'chatcmpl-1', created: 0, model: 'm' };
const whole = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
  usage,
});
const event = (more: object) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...more })}\n\n`;
const choice = (delta: object, finish_reason: string | null = null) => event({ choices: [{ index: 0, delta, finish_reason }] });
const pieces = [
  choice({ role: 'assistant' }),
  ...text.split(/(?<= )/).map((content) => choice({ content })),
  choice({}, 'stop'),
  event({ choices: [], usage }),
  'data: [DONE]\n\n',
];

function reply(body: string, response: ServerResponse): void {
  if (!/"stream":\s*true/.test(body)) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(whole) }).end(whole);
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of pieces) response.write(piece);
  response.end();
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (chunk: string) => (body += chunk));
  request.on('end', () => (delayMs > 0 ? setTimeout(reply, delayMs, body, response) : reply(body, response)));
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', 4096, () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
