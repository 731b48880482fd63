import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { Queue } from 'bullmq';
import express from 'express';
import { Redis } from 'ioredis';
import { Pool } from 'pg';

/** The floor's first half: bare Express, one insert, one BullMQ job, and the reply by pub/sub on a channel of this process. */
const redisUrl = process.env['REDIS_URL'] ?? '';
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const queue = new Queue('floor', { connection: new Redis(redisUrl, { maxRetriesPerRequest: null }) });
const subscriber = new Redis(redisUrl);
const channel = `floor:${randomUUID()}`;
const waiting = new Map<string, (reply: unknown) => void>();
subscriber.on('message', (_channel: string, message: string) => {
  const reply = JSON.parse(message) as { id: string };
  waiting.get(reply.id)?.(reply);
  waiting.delete(reply.id);
});
await subscriber.subscribe(channel);

const app = express();
app.use(express.json());
app.post('/messages', async (request, response) => {
  const id = randomUUID();
  const replied = new Promise((resolve) => waiting.set(id, resolve));
  await pool.query({ name: 'ask', text: 'insert into floor_messages (id, question) values ($1, $2)', values: [id, request.body.message] });
  await queue.add('answer', { id, channel, message: request.body.message }, { removeOnComplete: true, removeOnFail: true });
  response.json({ data: await replied });
});
const server = app.listen(0, '127.0.0.1', 4096, () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
