import { randomUUID } from 'node:crypto';
import { Agent } from 'undici';
import { signatureHeaders } from '../../../services/webhook-dispatcher/src/signatures.ts';

// The floor: posts events as fast as receivers answer, signed in the same way, and records nothing. A message tells this process for how
// long to run; it replies with the number of answered posts.

const url = process.env['RECEIVER_URL'] ?? '';
const atOnce = Number(process.env['AT_ONCE']);
const agent = new Agent({ connect: { ca: process.env['RECEIVER_CERT'] ?? '' }, connections: atOnce });
const secrets = [`whsec_${Buffer.alloc(32, 1).toString('base64')}`];

async function post(): Promise<void> {
  const id = `evt_${randomUUID()}`;
  const body = JSON.stringify({
    id,
    type: 'credits.depleted',
    created_at: new Date().toISOString(),
    data: { balance: 0, sent_at: Date.now() },
  });
  const headers = { 'content-type': 'application/json', ...signatureHeaders({ eventId: id, body, secrets, nowMs: Date.now() }) };
  const answer = await agent.request({ origin: url, path: '/fast', method: 'POST', headers, body });
  await answer.body.text();
}

async function run(seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let requests = 0;
  const one = async () => {
    while (performance.now() < end) {
      await post();
      requests += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return requests / seconds;
}

process.on('message', ({ seconds }: { seconds: number }) => {
  void run(seconds).then((rate) => process.send?.({ rate }));
});
process.on('disconnect', () => process.exit(0));
process.send?.({ port: 0 });
