import type { RunningProcess } from '@agent-service/runtime';
import { ownRedis, testRedisCluster, testSentinel, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { openChannel } from '../src/channels/channel.ts';
import { createPublisher } from '../src/channels/publisher.ts';
import { type AnswerJob, createProducer, openRedis, type Producer, type RedisConnections, startWorker } from '../src/index.ts';
import { lateProxy } from './late-proxy.ts';
import { answerJob, auto, eventually, patient, testProcess, unhandledRejections } from './support.ts';

interface Setting {
  readonly url: string;
  /** Faults that clients have to survive. */
  readonly faults?: readonly (readonly [fault: string, cause: () => Promise<void>])[];
  stop(): Promise<void>;
}

const key = '{answers}:answers:wait';

const settings: readonly (readonly [mode: string, start: () => Promise<Setting>])[] = [
  ['single', ownRedis],
  [
    'sentinel',
    async () => {
      const servers = await testSentinel();
      return { ...servers, faults: [['the primary is killed', servers.killPrimary]] };
    },
  ],
  [
    'cluster',
    async () => {
      const servers = await testRedisCluster();
      return {
        ...servers,
        faults: [
          ['the slots move to the replica (MOVED)', () => servers.failOver(key)],
          ['the primary of the queue is killed', () => servers.killPrimary(key)],
        ],
      };
    },
  ],
];

describe.each(settings)('on a Redis of the kind %s', (mode, startServers) => {
  let servers: Setting;
  let process: RunningProcess;
  let redis: RedisConnections;
  let producer: Producer<AnswerJob>;
  let rejections: ReturnType<typeof unhandledRejections>;

  beforeAll(async () => {
    servers = await startServers();
  });
  afterAll(() => servers.stop());

  beforeEach(async () => {
    rejections = unhandledRejections();
    process = await testProcess();
    redis = await openRedis(process, auto(servers.url), patient);
    producer = createProducer(process, redis, 'answer');
  });
  afterEach(async () => {
    await process.stop();
    rejections.stop();
    expect(rejections.rejections).toEqual([]);
  });

  test('the kind of Redis is detected', async () => {
    expect((await redis.topology).mode).toBe(mode);
  });

  test('jobs are known until they are done, in the order of their priority, and removed on request', async () => {
    const all = ['c', 'a', 'b', 'gone', 'd', 'last'].map((name) => answerJob(name));
    const [c, a, b, gone, d, last] = all as [AnswerJob, AnswerJob, AnswerJob, AnswerJob, AnswerJob, AnswerJob];
    await producer.add([
      { payload: c, priority: 3 },
      { payload: a, priority: 1 },
      { payload: b, priority: 2 },
      { payload: gone, priority: 1 },
      { payload: d, priority: 3 },
      { payload: last, priority: 4 },
    ]);
    await producer.add([{ payload: a, priority: 9 }]);
    await producer.prioritize([
      { payload: last, priority: 1 },
      { payload: answerJob('unknown'), priority: 1 },
    ]);
    await producer.remove([gone, answerJob('unknown')]);
    expect(await producer.known([a, gone, answerJob('a', 2), last])).toEqual([true, false, false, true]);
    expect(await producer.waiting([a, gone, last])).toEqual([true, false, true]);
    expect(await producer.counts()).toEqual({ waiting: 5, active: 0, delayed: 0 });

    const received: string[] = [];
    let handled = 0;
    await startWorker(process, redis, 'answer', {
      concurrency: 1,
      drainMs: 100,
      handle: async (job) => {
        received.push(job.answerId);
        // A worker has this one.
        expect([await producer.known([job]), await producer.waiting([job])]).toEqual([[true], [false]]);
        handled += 1;
      },
    });
    await until('all are done', async () => !(await producer.known(all)).some(Boolean));
    expect(handled).toBe(5);
    expect(received).toEqual(['a', 'last', 'b', 'c', 'd']);
  });

  test('messages arrive in order, and on their channel only', async () => {
    const received: number[] = [];
    const others: number[] = [];
    const channel = await openChannel(
      process,
      redis,
      { prefix: 'replies', message: z.number() },
      (messages) => void received.push(...messages),
    );
    await openChannel(process, redis, { prefix: 'replies', message: z.number() }, (messages) => void others.push(...messages));
    const publisher = createPublisher<number>(process, redis);
    const sent = Array.from({ length: 500 }, (_, index) => index);
    for (const number of sent) {
      publisher.publish(channel.address, number);
      if (number % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await until('all have arrived', async () => received.length >= sent.length);
    expect(received).toEqual(sent);
    expect([others, channel.lastGapAt]).toEqual([[], 0]);
  });

  test('a process that starts while Redis is away detects its kind later', async () => {
    const proxy = await lateProxy(servers.url);
    const late = await openRedis(process, auto(proxy.url), patient);
    const done = Promise.withResolvers<void>();
    await startWorker(process, late, 'answer', { concurrency: 1, drainMs: 100, handle: async () => done.resolve() });
    const refused = createProducer(process, late, 'answer');
    await expect(refused.add([{ payload: answerJob('early') }])).rejects.toThrow();
    await proxy.open();
    expect((await late.topology).mode).toBe(mode);
    await eventually(() => refused.add([{ payload: answerJob('late') }]));
    await done.promise;
    proxy.close();
  });

  test('jobs and messages flow again after each fault', async () => {
    const done = new Set<string>();
    const received = new Set<string>();
    await startWorker(process, redis, 'answer', { concurrency: 10, drainMs: 100, handle: async ({ answerId }) => void done.add(answerId) });
    const channel = await openChannel(process, redis, { prefix: 'replies', message: z.string() }, (messages) => {
      for (const name of messages) received.add(name);
    });
    const publisher = createPublisher<string>(process, redis);
    const flows = async (name: string) => {
      // A killed primary may lose a job that it has confirmed: like a sweep, the test adds it again under its id.
      await until(`the job ${name} is done`, async () => {
        await eventually(() => producer.add([{ payload: answerJob(name) }]));
        return done.has(name);
      });
      await until(`the message ${name} is received`, async () => {
        publisher.publish(channel.address, name);
        return received.has(name);
      });
    };
    await flows('before');
    for (const [fault, cause] of servers.faults ?? []) {
      await cause();
      await flows(fault);
    }
  });
});
