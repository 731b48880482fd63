import type { RunningProcess } from '@agent-service/runtime';
import { type OwnRedis, ownRedis, until } from '@agent-service/testkit';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { openChannel } from '../src/channels/channel.ts';
import { createPublisher } from '../src/channels/publisher.ts';
import { type AnswerJob, createProducer, openRedis, type Producer, type RedisConnections, startWorker } from '../src/index.ts';
import { lateProxy } from './late-proxy.ts';
import { answerJob, auto, eventually, testProcess, unhandledRejections } from './support.ts';

let server: OwnRedis;
let direct: Redis;
let process: RunningProcess;
let redis: RedisConnections;
let producer: Producer<AnswerJob>;
let rejections: ReturnType<typeof unhandledRejections>;
let done: Set<string>;

beforeEach(async () => {
  server = await ownRedis();
  direct = new Redis(server.url, { disconnectTimeout: 20, retryStrategy: () => 50 });
  direct.on('error', () => undefined);
  rejections = unhandledRejections();
  process = await testProcess();
  redis = await openRedis(process, auto(server.url));
  producer = createProducer(process, redis, 'answer');
  done = new Set();
});
afterEach(async () => {
  await process.stop();
  direct.disconnect();
  await server.stop();
  rejections.stop();
  expect(rejections.rejections).toEqual([]);
});

const work = () =>
  startWorker(process, redis, 'answer', { concurrency: 5, drainMs: 100, handle: async ({ answerId }) => void done.add(answerId) });

async function jobsFlow(name: string): Promise<void> {
  await eventually(() => producer.add([{ payload: answerJob(name) }]));
  await until(`the job ${name} is done`, async () => done.has(name));
}

describe('without Redis', () => {
  test('every call to the queue is refused by its limit, however long Redis is silent', async () => {
    await eventually(() => producer.add([{ payload: answerJob('one') }]));
    const asks = [
      () => producer.add([{ payload: answerJob('two') }]),
      () => producer.known([answerJob('one')]),
      () => producer.prioritize([{ payload: answerJob('one'), priority: 2 }]),
      () => producer.remove([answerJob('one')]),
      () => producer.counts(),
    ];
    const measured = async () => / (\d+)$/m.exec(await process.metrics.registry.getSingleMetricAsString('jobs_waiting'))?.[1];
    expect(await measured()).toBe('1');
    // Redis is silent for longer than this test may take, so that calls end by their own limits.
    await direct.call('CLIENT', 'PAUSE', 600_000, 'ALL');
    for (const ask of asks) await expect(ask()).rejects.toThrow();
    expect(await measured()).toBeUndefined();
    await server.stop();
    for (const ask of asks) await expect(ask()).rejects.toThrow();
  });

  test('lost messages are counted, and the receiver learns of the gap', async () => {
    const received: string[] = [];
    const channel = await openChannel(
      process,
      redis,
      { prefix: 'replies', message: z.string() },
      (messages) => void received.push(...messages),
    );
    const { publish } = createPublisher<string>(process, redis);
    const lost = async () =>
      Number(/ (\d+)$/m.exec(await process.metrics.registry.getSingleMetricAsString('channel_messages_lost_total'))?.[1] ?? 0);
    await until('a message arrives', async () => {
      publish(channel.address, 'before');
      return received.length > 0;
    });
    const lostBefore = await lost();
    await server.stop();
    publish(channel.address, 'lost');
    publish(channel.address, 'lost too');
    await until('the loss is counted', async () => (await lost()) - lostBefore >= 2);
    await until('the gap is known', async () => channel.lastGapAt > 0);
    await server.start();
    await until('messages come again', async () => {
      publish(channel.address, 'after');
      return received.includes('after');
    });
    expect(received.filter((text) => text.startsWith('lost'))).toEqual([]);
    const gap = channel.lastGapAt;
    await until('the gap is over', async () => channel.lastGapAt === gap && Date.now() > gap);
  });
});

describe('Redis comes back', () => {
  test('empty, and workers and channels go on by themselves', async () => {
    const received = new Set<string>();
    await work();
    const channel = await openChannel(process, redis, { prefix: 'replies', message: z.string() }, (messages) => {
      for (const message of messages) received.add(message);
    });
    const { publish } = createPublisher<string>(process, redis);
    for (const round of ['first', 'second', 'third']) {
      await jobsFlow(round);
      await until('messages flow', async () => {
        publish(channel.address, round);
        return received.has(round);
      });
      await server.stop();
      await server.start();
    }
  });

  test('and a process that started without it gets its jobs and messages', async () => {
    await server.stop();
    const own = await testProcess();
    const late = await openRedis(own, auto(server.url));
    const received: string[] = [];
    const channel = await openChannel(own, late, { prefix: 'replies', message: z.string() }, (messages) => void received.push(...messages));
    await startWorker(own, late, 'answer', { concurrency: 5, drainMs: 100, handle: async ({ answerId }) => void done.add(answerId) });
    const { publish } = createPublisher<string>(own, late);
    const lateProducer = createProducer(own, late, 'answer');
    await expect(lateProducer.add([{ payload: answerJob('early') }])).rejects.toThrow();
    expect(channel.lastGapAt).toBeGreaterThan(0);
    await server.start();
    await eventually(() => lateProducer.add([{ payload: answerJob('late') }]));
    await until('the job is done', async () => done.has('late'));
    await until('messages flow', async () => {
      publish(channel.address, 'hello');
      return received.length > 0;
    });
    await own.stop();
  });
});

test('FLUSHALL during work loses jobs, which are then unknown and can be added again', async () => {
  const release = Promise.withResolvers<void>();
  const runs: string[] = [];
  await startWorker(process, redis, 'answer', {
    concurrency: 1,
    drainMs: 100,
    handle: async ({ answerId, dispatch }) => {
      runs.push(`${answerId} ${dispatch}`);
      if (answerId === 'held') await release.promise;
    },
  });
  await eventually(() => producer.add([{ payload: answerJob('held') }]));
  await until('it runs', async () => runs.length === 1);
  await eventually(() => producer.add([{ payload: answerJob('waiting') }]));
  await direct.flushall();
  expect(await eventually(() => producer.known([answerJob('held'), answerJob('waiting')]))).toEqual([false, false]);
  await eventually(() => producer.add([{ payload: answerJob('waiting', 2) }]));
  release.resolve();
  await until('the second dispatch is done', async () => runs.length === 2);
  expect(runs).toEqual(['held 1', 'waiting 2']);
  await until('nothing is left', async () => !(await eventually(() => producer.known([answerJob('waiting', 2)])))[0]);
});

test('a connection whose peer is silently lost is replaced', async () => {
  const proxy = await lateProxy(server.url);
  await proxy.open();
  const own = await testProcess();
  const through = await openRedis(own, auto(proxy.url));
  const received: string[] = [];
  const channel = await openChannel(
    own,
    through,
    { prefix: 'replies', message: z.string() },
    (messages) => void received.push(...messages),
  );
  const added = createProducer(own, through, 'answer');
  await eventually(() => added.add([{ payload: answerJob('before') }]));
  proxy.freeze();
  await expect(added.add([{ payload: answerJob('lost') }])).rejects.toThrow();
  await eventually(() => added.add([{ payload: answerJob('after') }]));
  await work();
  await until('the job is done', async () => done.has('after'));
  const { publish } = createPublisher<string>(process, redis);
  await until('messages come again', async () => {
    publish(channel.address, 'after');
    return received.includes('after');
  });
  expect(channel.lastGapAt).toBeGreaterThan(0);
  await own.stop();
  proxy.close();
});
