import { setTimeout as pause } from 'node:timers/promises';
import { clockShifts, type OwnRedis, ownRedis, spanCollector, until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { startDispatcher } from './support/dispatcher.ts';
import { type Scene, setScene, usualAnswer } from './support/scene.ts';
import { startWorkerProcess, type WorkerProcess } from './support/worker-process.ts';

let scene: Scene;
let worker: WorkerProcess | undefined;
let serial = 0;

beforeAll(async () => {
  scene = await setScene();
});
afterAll(() => scene?.stop());
beforeEach(() => scene.reset());
afterEach(async () => {
  await worker?.kill();
  worker = undefined;
});

const newIds = (count: number) => Array.from({ length: count }, () => `msg_${++serial}`);

async function start(settings: Record<string, string> = {}): Promise<WorkerProcess> {
  worker = await startWorkerProcess(scene, settings);
  await until('the worker is ready', worker.isReady);
  return worker;
}

async function dispatchAndAwaitModel(ids: readonly string[]): Promise<void> {
  const callsBefore = scene.model.calls.length;
  await scene.dispatcher.dispatch(ids);
  await until('the model is called for all', () => scene.model.calls.length === callsBefore + ids.length);
}

const outcomesIn = ({ log }: WorkerProcess) => log.filter(({ event }) => event === 'answer').map(({ outcome }) => outcome);

test('SIGTERM: unready at once, no new jobs, running answers are finished in time, and a second SIGTERM has no effect', async () => {
  const running = await start();
  scene.model.follow(() => ({ kind: 'text', text: usualAnswer, delayMs: 1_200 }));
  await dispatchAndAwaitModel(newIds(5));
  running.signal('SIGTERM');
  await until('it is unready', async () => !(await running.isReady()));
  running.signal('SIGTERM');
  await scene.dispatcher.dispatch(newIds(1), 7);
  expect(await running.ended).toBe(0);
  expect([scene.agents.completed.length, scene.agents.returned]).toEqual([5, []]);
  expect(scene.agents.begunItems).toHaveLength(5);
  expect((await scene.dispatcher.counts()).waiting).toBe(1);
  expect(outcomesIn(running)).toEqual(Array(5).fill('completed'));
  // The next worker runs it.
  await start();
  await until('the last one is completed', () => scene.agents.completed.length === 6);
});

test('SIGTERM: unfinished answers are returned at once in one call, and their calls of the model end', async () => {
  const running = await start({ ANSWER_DRAIN_MS: '300' });
  scene.model.follow(() => ({ kind: 'silence' }));
  const { abandoned } = scene.model;
  const ids = newIds(20);
  await dispatchAndAwaitModel(ids);
  running.signal('SIGTERM');
  expect(await running.ended).toBe(0);
  expect(running.log.filter(({ event }) => event === 'stop_failed')).toEqual([]);
  expect(scene.agents.returned.map(({ answer, attempt }) => `${answer?.answerId} ${attempt}`).sort()).toEqual(
    ids.map((id) => `${id} 1`).sort(),
  );
  expect(scene.model.abandoned).toBe(abandoned + 20);
  expect(scene.agents.failed).toEqual([]);
  expect(outcomesIn(running)).toEqual(Array(20).fill('returned'));
});

test('SIGTERM while agents is unavailable: the process ends', async () => {
  const running = await start({ ANSWER_DRAIN_MS: '500' });
  scene.model.follow((_request, call) => (call % 2 === 0 ? { kind: 'silence' } : { kind: 'text', text: usualAnswer, delayMs: 300 }));
  await dispatchAndAwaitModel(newIds(6));
  await scene.agents.stop();
  running.signal('SIGTERM');
  expect(await running.ended).toBe(0);
  await scene.agents.start();
});

test('a worker that was frozen beyond its leases drops those answers, with one warning for each', async () => {
  const running = await start();
  const [slow, done] = newIds(2) as [string, string];
  scene.model.follow((_request, call) => ({ kind: 'text', text: usualAnswer, delayMs: call % 2 === 0 ? 60_000 : 400 }));
  await dispatchAndAwaitModel([slow]);
  await dispatchAndAwaitModel([done]);
  running.signal('SIGSTOP');
  scene.agents.script.isLost = () => true;
  scene.agents.script.complete = () => 'attempt_superseded';
  await until('the model has answered while the worker is frozen', () => pause(600, true));
  running.signal('SIGCONT');
  await until('both are dropped', () => outcomesIn(running).length === 2);
  expect(outcomesIn(running).sort()).toEqual(['lost', 'superseded']);
  const warnings = running.log.filter(
    (line) => Number(line['level']) >= 40 && [slow, done].some((id) => JSON.stringify(line).includes(id)),
  );
  expect(warnings.map(({ event }) => event)).toEqual(['answer', 'answer']);
  expect([scene.agents.failed, scene.agents.returned]).toEqual([[], []]);
  // The worker runs further answers.
  scene.reset();
  await scene.dispatcher.dispatch(newIds(1));
  await until('the next is completed', () => scene.agents.completed.length === 1);
});

test('one log line for each answer, with ids and durations and without texts', async () => {
  const running = await start();
  scene.model.follow(() => ({ kind: 'text', text: 'A secret answer', usage: { prompt_tokens: 5, completion_tokens: 3 } }));
  const [id] = newIds(1) as [string];
  scene.agents.script.begin = () => ({ message: 'A secret question', stream: true, replyChannels: [scene.dispatcher.channel] });
  await scene.dispatcher.dispatch([id]);
  await until('it is logged', () => outcomesIn(running).length === 1);
  const line = running.log.find(({ event }) => event === 'answer');
  expect(line).toMatchObject({
    organization_id: 'org_a',
    environment: 'live',
    answer_id: id,
    request_id: 'req_1',
    agent_id: 'agt_1',
    tier: 'Fast',
    attempt: 1,
    outcome: 'completed',
    input_tokens: 5,
    output_tokens: 3,
  });
  for (const name of ['begin_ms', 'model_ms', 'end_ms', 'duration_ms', 'first_delta_ms']) expect(line?.[name]).toEqual(expect.any(Number));
  expect(JSON.stringify(running.log)).not.toContain('secret');
});

test('the answer and the call of its model are spans of the caller’s trace', async () => {
  const collector = await spanCollector();
  const running = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  scene.agents.script.begin = () => ({ traceparent: `00-${traceId}-b7ad6b7169203331-01` });
  await scene.dispatcher.dispatch(newIds(1));
  await until('it is completed', () => scene.agents.completed.length === 1);
  running.signal('SIGTERM');
  await running.ended;
  const span = (name: string) => collector.spans.find((each) => each.name === name && each.traceId === traceId);
  expect(span('answer')).toMatchObject({ service: 'answer-worker', parentSpanId: 'b7ad6b7169203331' });
  expect(span('model')?.parentSpanId).toBe(span('answer')?.spanId);
  await collector.stop();
});

test('it starts without Redis and agents, alive and not ready, and works as soon as both are there', async () => {
  const redis: OwnRedis = await ownRedis();
  const dispatcher = await startDispatcher(redis.url);
  await redis.stop();
  await scene.agents.stop();
  worker = await startWorkerProcess({ ...scene, redisUrl: redis.url });
  expect([await worker.isAlive(), await worker.isReady()]).toEqual([true, false]);
  const { log } = worker;
  const waits = () => log.filter(({ event }) => event === 'waiting_for_agents');
  await until('it says what it waits for', () => waits().length > 0);
  expect(JSON.stringify(waits())).toContain('ECONNREFUSED');
  await redis.start();
  await scene.agents.start();
  await until('it is ready', worker.isReady);
  const ids = newIds(1);
  await until('the job is taken by Redis', () =>
    dispatcher.dispatch(ids).then(
      () => true,
      () => false,
    ),
  );
  await until('it is completed', () => scene.agents.completed.length === 1);
  await dispatcher.stop();
  await redis.stop();
});

test('a worker whose clock is 40 days ahead, and that starts before agents, begins no answer until it knows the time', async () => {
  const clocks = await clockShifts();
  clocks.shift({ kill: () => undefined }, 40 * 86_400_000);
  await scene.agents.stop();
  worker = await startWorkerProcess(scene, clocks.settings);
  const ids = newIds(5);
  await scene.dispatcher.dispatch(ids);
  await scene.agents.start();
  await until('all are completed', () => scene.agents.completed.length === ids.length);
  expect(scene.agents.failed).toEqual([]);
  expect(await worker.isReady()).toBe(false);
});

test('a worker whose key agents does not know takes no jobs from the queue', async () => {
  worker = await startWorkerProcess(scene, { SERVICE_SECRET: 'another-secret-that-is-long-enough' });
  const { log } = worker;
  const ids = newIds(5);
  await scene.dispatcher.dispatch(ids);
  await until('it says why it waits', () => log.some((line) => JSON.stringify(line).includes('does not know')));
  // It would have read the time twice by now, and so have begun.
  const stranger = worker;
  const good = await startWorkerProcess(scene);
  await until('a worker with the right key has completed all', () => scene.agents.completed.length === ids.length);
  expect([await stranger.isReady(), log.some(({ event }) => event === 'started')]).toEqual([false, false]);
  await good.kill();
});
