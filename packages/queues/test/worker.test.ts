import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger, RunningProcess } from '@agent-service/runtime';
import { type OwnRedis, ownRedis, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { z } from 'zod';
import { openChannel } from '../src/channels/channel.ts';
import { type AnswerJob, createProducer, openRedis, type Producer, type RedisConnections } from '../src/index.ts';
import { startWorker } from '../src/jobs/worker.ts';
import { answerJob, auto, patient, testProcess, unhandledRejections } from './support.ts';

let server: OwnRedis;
let direct: Redis;
let process: RunningProcess;
let redis: RedisConnections;
let producer: Producer<AnswerJob>;
let rejections: ReturnType<typeof unhandledRejections>;

beforeAll(async () => {
  server = await ownRedis();
  direct = new Redis(server.url);
});
afterAll(async () => {
  direct.disconnect();
  await server.stop();
});
beforeEach(async () => {
  await direct.flushall();
  rejections = unhandledRejections();
  process = await testProcess();
  redis = await openRedis(process, auto(server.url), patient);
  producer = createProducer(process, redis, 'answer');
});
afterEach(async () => {
  await process.stop();
  rejections.stop();
  expect(rejections.rejections).toEqual([]);
});

/** The keys of a queue without jobs, however many it had. */
const bare = ['events', 'id', 'marker', 'meta', 'pc', 'stalled-check'];
const remains = async () =>
  (await direct.keys('*')).map((key) => key.replace('{answers}:answers:', '')).filter((key) => !bare.includes(key));
const idle = () => until('nothing is left', async () => (await remains()).length === 0);
const quick = { concurrency: 20, drainMs: 100 };
const impatient = { lockMs: 400, checkMs: 200 };

describe('a job is run once and leaves nothing', () => {
  test('when its handler throws', async () => {
    const runs: string[] = [];
    await startWorker(process, redis, 'answer', {
      ...quick,
      handle: async ({ answerId }) => {
        runs.push(answerId);
        if (answerId === 'broken') throw new Error('a fault of ours');
      },
    });
    await producer.add([{ payload: answerJob('broken') }, { payload: answerJob('whole') }]);
    await until('both have run', async () => runs.length === 2);
    await idle();
    expect(runs.sort()).toEqual(['broken', 'whole']);
    const metrics = await process.metrics.registry.metrics();
    expect(metrics).toMatch(/jobs_seconds_count\{.*outcome="failed".*\} 1/);
    expect(metrics).toMatch(/jobs_seconds_count\{.*outcome="done".*\} 1/);
  });

  test('when its payload does not fit the catalogue', async () => {
    const runs: string[] = [];
    await startWorker(process, redis, 'answer', { ...quick, handle: async ({ answerId }) => void runs.push(answerId) });
    await producer.add([{ payload: { ...answerJob('odd'), environment: 'elsewhere' as 'live' } }, { payload: answerJob('even') }]);
    await until('the good one has run', async () => runs.length === 1);
    await idle();
    expect(runs).toEqual(['even']);
  });

  test('when its priority changes while workers take it', async () => {
    const runs: string[] = [];
    const names = Array.from({ length: 300 }, (_, index) => `race-${index}`);
    await startWorker(process, redis, 'answer', { ...quick, handle: async ({ answerId }) => void runs.push(answerId) });
    const add = producer.add(names.map((name, index) => ({ payload: answerJob(name), priority: 1 + (index % 50) })));
    for (let round = 0; round < 5; round++) {
      await producer.prioritize(names.map((name, index) => ({ payload: answerJob(name), priority: 1 + ((index + round) % 7) })));
    }
    await add;
    await until('all have run', async () => runs.length >= names.length);
    await idle();
    expect(runs.sort()).toEqual(names.sort());
  });
});

describe('a worker process', () => {
  const children: ChildProcess[] = [];
  let messages: string[];
  let channel: string;

  beforeEach(async () => {
    messages = [];
    ({ address: channel } = await openChannel(
      process,
      redis,
      { prefix: 'said', message: z.string() },
      (batch) => void messages.push(...batch),
    ));
  });
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  const untilMessage = (text: string) => until(`"${text}" arrives`, async () => messages.includes(text));

  async function startChild(holdMs: number): Promise<ChildProcess> {
    const file = fileURLToPath(new URL('./worker-process.ts', import.meta.url));
    const child = spawn(globalThis.process.execPath, [file, server.url, channel, String(holdMs)], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.push(child);
    await untilMessage('ready');
    return child;
  }

  test('that freezes loses its job, which no other worker runs, and works again when it continues', async () => {
    const child = await startChild(200);
    await producer.add([{ payload: answerJob('held') }]);
    await untilMessage('begun held');
    child.kill('SIGSTOP');
    const others: string[] = [];
    await startWorker(process, redis, 'answer', { ...quick, handle: async ({ answerId }) => void others.push(answerId) }, impatient);
    await idle();
    expect(await producer.known([answerJob('held')])).toEqual([false]);
    child.kill('SIGCONT');
    await untilMessage('ended held');
    const more = Array.from({ length: 40 }, (_, index) => `more-${index}`);
    await until('the continued worker works again', async () => {
      await producer.add(more.map((name) => ({ payload: answerJob(name, messages.length) })));
      return messages.some((text) => text.startsWith('ended more'));
    });
    expect([others.includes('held'), messages.filter((text) => text === 'begun held').length, child.exitCode]).toEqual([false, 1, null]);
    await idle();
  });

  test('that is killed leaves a job that is removed and not repeated', async () => {
    const child = await startChild(60_000);
    await producer.add([{ payload: answerJob('held') }]);
    await untilMessage('begun held');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await producer.known([answerJob('held')])).toEqual([true]);
    const others: string[] = [];
    await startWorker(process, redis, 'answer', { ...quick, handle: async ({ answerId }) => void others.push(answerId) }, impatient);
    await until('it is removed', async () => !(await producer.known([answerJob('held')]))[0]);
    await idle();
    expect(others).toEqual([]);
  });

  test('that is killed before the clock of Redis is put back leaves a job that counts as abandoned after two minutes', async () => {
    const key = (of: string) => `{answers}:answers:${of}`;
    const age = (answerId: string) => direct.hset(key(`${answerId}-1`), 'timestamp', process.clock.now() - 120_000);
    const [held, waits] = [answerJob('held'), answerJob('waits')];
    const child = await startChild(60_000);
    await producer.add([{ payload: held }]);
    await untilMessage('begun held');
    await age('held');
    expect(await producer.abandoned([held])).toEqual([false]);
    child.kill('SIGKILL');
    await once(child, 'exit');
    await producer.add([{ payload: waits }]);
    await age('waits');
    // After a step back by an hour these keys stay for that hour.
    await direct.pexpire(key('stalled-check'), 3_600_000);
    await direct.pexpire(key('held-1:lock'), 3_600_000);
    expect(await producer.known([held, waits, answerJob('gone')])).toEqual([true, true, false]);
    expect(await producer.abandoned([held, waits, answerJob('gone')])).toEqual([true, false, false]);
    await direct.hset(key('held-1'), 'timestamp', process.clock.now() - 60_000);
    expect(await producer.abandoned([held])).toEqual([false]);
  });
});

describe('a process that stops', () => {
  test('finishes short jobs, aborts the others, and takes no more', async () => {
    const events: string[] = [];
    const own = await testProcess();
    const worker = await startWorker(own, await openRedis(own, auto(server.url), patient), 'answer', {
      concurrency: 2,
      drainMs: 300,
      handle: async ({ answerId }, signal) => {
        events.push(`begun ${answerId}`);
        const ended = new Promise((resolve) => signal.addEventListener('abort', resolve));
        await (answerId === 'short' ? pause(100) : ended);
        events.push(`${signal.aborted ? 'aborted' : 'ended'} ${answerId}`);
      },
    });
    await producer.add(['short', 'long'].map((name) => ({ payload: answerJob(name) })));
    await until('both run', async () => worker.active === 2);
    await producer.add([{ payload: answerJob('next') }]);
    await own.stop();
    expect(events.slice(2)).toEqual(['ended short', 'aborted long']);
    expect(worker.active).toBe(0);
    expect(await producer.counts()).toEqual({ waiting: 1, active: 0, delayed: 0 });
  });

  test('stops by itself while Redis is away, which BullMQ would wait for', async () => {
    const other = await ownRedis();
    const own = await testProcess();
    const connections = await openRedis(own, auto(other.url), patient);
    const stops: (() => Promise<void>)[] = [];
    // Without the limit that a process sets to its parts.
    const unlimited = { ...own, onStop: (_name: string, stop: () => Promise<void>) => void stops.push(stop) };
    const done: string[] = [];
    const handle = async ({ answerId }: AnswerJob) => void done.push(answerId);
    await startWorker(unlimited, connections, 'answer', { concurrency: 1, drainMs: 50, handle });
    await createProducer(own, connections, 'answer').add([{ payload: answerJob('one') }]);
    await until('it has run', async () => done.length === 1);
    await other.stop();
    for (const stop of stops) await stop();
    await own.stop();
  });

  test('stops in time though a handler ignores its signal and Redis is away', async () => {
    const other = await ownRedis();
    const own = await testProcess();
    const connections = await openRedis(own, auto(other.url), patient);
    const released = Promise.withResolvers<void>();
    const worker = await startWorker(own, connections, 'answer', { concurrency: 1, drainMs: 50, handle: () => released.promise });
    await createProducer(own, connections, 'answer').add([{ payload: answerJob('deaf') }]);
    await until('it runs', async () => worker.active === 1);
    await other.stop();
    // The handler never ends by itself.
    await own.stop();
    expect(worker.active).toBe(1);
    released.resolve();
  });
});

test('a worker that cannot be opened is named in the log, at its start and when it is resumed', async () => {
  const logged: unknown[] = [];
  const logger = { error: (entry: object) => logged.push(entry) } as unknown as Logger;
  const fault = new Error('no connection');
  const openWorkerConnection = () => {
    throw fault;
  };
  const worker = await startWorker({ ...process, logger }, { ...redis, openWorkerConnection }, 'answer', {
    ...quick,
    handle: async () => undefined,
  });
  worker.pause();
  worker.resume();
  // The topology is known, so both openings have failed by then.
  await setImmediate();
  const entry = { event: 'worker_not_started', queue: 'answers', err: fault };
  expect(logged).toEqual([entry, entry]);
});

test('Redis does not grow with the jobs that are done', async () => {
  let done = 0;
  await startWorker(process, redis, 'answer', { concurrency: 100, drainMs: 100, handle: async () => void done++ });
  const round = async (name: string, count: number) => {
    const target = done + count;
    for (let at = 0; at < count; at += 500) {
      await producer.add(
        Array.from({ length: 500 }, (_, index) => ({ payload: answerJob(`${name}-${at + index}`), priority: 1 + (index % 50) })),
      );
    }
    await until('all are done', async () => done === target);
    await idle();
    const keys = await direct.keys('*');
    // The server's own memory changes with its clients and its log of slow commands.
    const sizes = await Promise.all(keys.map((key) => direct.memory('USAGE', key, 'SAMPLES', 0)));
    const used = sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
    return { keys: keys.length, used, events: await direct.xlen('{answers}:answers:events') };
  };
  const first = await round('first', 1_000);
  const second = await round('second', 10_000);
  expect(second.keys).toBeLessThanOrEqual(bare.length);
  expect(second.events).toBeLessThan(500);
  expect(first.used).toBeGreaterThan(0);
  // One byte for each of 10,000 jobs.
  expect(second.used - first.used).toBeLessThan(10_000);
});
