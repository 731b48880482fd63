import { randomUUID } from 'node:crypto';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { Pool } from 'pg';

/** The floor's second half: a job is one HTTP call to the model, one insert and one message on the caller's channel. */
const redisUrl = process.env['REDIS_URL'] ?? '';
const modelUrl = `${process.env['MODEL_URL']}/chat/completions`;
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });
const publisher = new Redis(redisUrl);

interface Question {
  id: string;
  channel: string;
  message: string;
}

const worker = new Worker<Question>(
  'floor',
  async ({ data: { id, channel, message } }) => {
    const response = await fetch(modelUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: message }] }),
    });
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] };
    const content = choices[0]?.message.content ?? '';
    await pool.query({
      name: 'answer',
      text: 'insert into floor_messages (id, question, answer) values ($1, $2, $3)',
      values: [randomUUID(), id, content],
    });
    await publisher.publish(channel, JSON.stringify({ id, content }));
  },
  { connection: new Redis(redisUrl, { maxRetriesPerRequest: null }), concurrency: 200 },
);
await worker.waitUntilReady();
process.send?.({ port: 0 });
process.on('disconnect', () => process.exit(0));
