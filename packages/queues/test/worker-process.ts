import { setTimeout as pause } from 'node:timers/promises';
import { createProcess } from '@agent-service/runtime';
import { createPublisher } from '../src/channels/publisher.ts';
import { openRedis } from '../src/index.ts';
import { startWorker } from '../src/jobs/worker.ts';

/** A worker in its own process, which a test may freeze and kill. It reports its jobs on a channel. */
const [url = '', channel = '', holdMs = '0', lockMs = '400', checkMs = '200'] = process.argv.slice(2);
const config = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const;

await createProcess('worker', config, async (context) => {
  const redis = await openRedis(context, { REDIS_URL: url, REDIS_MODE: 'auto' });
  const { publish } = createPublisher<string>(context, redis);
  const handle = async ({ answerId }: { answerId: string }) => {
    publish(channel, `begun ${answerId}`);
    await pause(answerId === 'held' ? Number(holdMs) : 0);
    publish(channel, `ended ${answerId}`);
  };
  const times = { lockMs: Number(lockMs), checkMs: Number(checkMs) };
  await startWorker(context, redis, 'answer', { concurrency: 5, drainMs: 100, handle }, times);
  publish(channel, 'ready');
});
