import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { ApartJob } from '@agent-service/queues';
import { until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { ApartProcess } from '../src/apart/pool.ts';
import { type Death, startApartProcess } from '../src/apart/processes.ts';
import { tenant } from './support/dispatcher.ts';
import { type Scene, setScene, usualAnswer } from './support/scene.ts';
import { settingsFor } from './support/settings.ts';
import { startWorkerProcess, type WorkerProcess } from './support/worker-process.ts';

const poison = 'end-this-process';
const hook = fileURLToPath(new URL('./support/poison.mjs', import.meta.url));

let scene: Scene;
let worker: WorkerProcess;
let serial = 0;

beforeAll(async () => {
  scene = await setScene();
});
afterAll(() => scene?.stop());
beforeEach(async () => {
  scene.reset();
  scene.agents.script.begin = ({ answer }) => ({ message: answer?.answerId ?? '' });
  scene.model.follow(({ messages }) => {
    const text = JSON.stringify(messages);
    if (text.includes('poison')) return { kind: 'text', text: poison };
    return { kind: 'text', text: usualAnswer, delayMs: text.includes('slow') ? 1_000 : 0 };
  });
  worker = await startWorkerProcess(scene, { NODE_OPTIONS: `--import ${hook}`, ANSWER_APART_PROCESSES: '2', ANSWER_APART_SHARED: '50' });
  await until('the worker is ready', worker.isReady);
});
afterEach(() => worker.kill());

const newIds = (kind: string, count = 1) => Array.from({ length: count }, () => `${kind}_${++serial}`);
const deaths = () => worker.log.filter(({ event }) => event === 'answer_process_died');
const completed = () => scene.agents.completed.map(({ answer }) => answer?.answer?.answerId).sort();

test('an answer that kills its process affects no other answer, in the worker or apart', async () => {
  const [inWorker, apart, poisons] = [newIds('slow', 20), newIds('slow', 1), newIds('poison', 3)];
  await scene.dispatcher.dispatch(inWorker);
  await scene.dispatcher.dispatch([...apart, ...poisons], 2, 'answerApart');
  await until('the deaths are reported', () => scene.agents.died.length === 3);
  await until('all others are completed', () => scene.agents.completed.length === 21);
  expect(completed()).toEqual([...inWorker, ...apart].sort());
  expect(scene.agents.died.map(({ answer, attempt }) => `${answer?.answerId} ${attempt}`).sort()).toEqual(poisons.map((id) => `${id} 1`));
  expect(await worker.isReady()).toBe(true);
  await until('each death is logged', () => deaths().length === 3);
  expect(deaths().map(({ how }) => how)).toEqual(Array(3).fill('SIGKILL'));
  // Only answers with their own process are begun as apart.
  expect(scene.agents.begunItems.filter(({ apart }) => apart).map(({ answer }) => answer?.answerId)).toEqual(
    expect.arrayContaining([...apart, ...poisons]),
  );
  expect(scene.agents.begunItems.filter(({ apart }) => apart)).toHaveLength(4);
});

test('processes are reused up to the limit, and end with their worker', async () => {
  const ids = newIds('quick', 12);
  await scene.dispatcher.dispatch(ids, 2, 'answerApart');
  await until('all are completed', () => scene.agents.completed.length === 12);
  const children = worker.children();
  expect(children.length).toBeGreaterThan(0);
  expect(children.length).toBeLessThanOrEqual(2);
  await worker.kill();
  await until('they have ended', () => children.every((pid) => !isAlive(pid)));
});

test('answers that share a process are all completed when their worker is killed', async () => {
  const gates = { first: Promise.withResolvers<void>(), second: Promise.withResolvers<void>() };
  scene.model.follow(async ({ messages }) => {
    await (JSON.stringify(messages).includes('first') ? gates.first : gates.second).promise;
    return { kind: 'text', text: usualAnswer };
  });
  const callsBefore = scene.model.calls.length;
  const [first, second] = [newIds('first'), newIds('second')];
  await scene.dispatcher.dispatch([...first, ...second], 2, 'answerApart', true);
  await until('the model is called for both', () => scene.model.calls.length === callsBefore + 2);
  const children = worker.children();
  expect(children).toHaveLength(1);
  await worker.kill();
  gates.first.resolve();
  await until('the first is completed', () => completed().length === 1);
  gates.second.resolve();
  await until('the process has ended', () => children.every((pid) => !isAlive(pid)));
  expect(completed()).toEqual([...first, ...second]);
  expect(worker.log.filter(({ event }) => event === 'uncaughtException')).toEqual([]);
});

test('answers that have lost one lease share processes, but not with one that runs alone, and a death is reported once for all', async () => {
  const [shared, poisons, alone] = [newIds('slow', 60), newIds('poison', 1), newIds('quick', 3)];
  await scene.dispatcher.dispatch([...shared, ...poisons], 2, 'answerApart', true);
  await scene.dispatcher.dispatch(alone, 3, 'answerApart');
  await until('the death is reported', () => scene.agents.died.length > 0);
  const died = scene.agents.died.map(({ answer }) => answer?.answerId);
  expect(died).toContain(poisons[0]);
  const others = [...shared, ...alone].filter((id) => !died.includes(id));
  // Answers that were not begun when their process died have lost only their jobs; agents dispatches them again.
  const begunIds = new Set(scene.agents.begunItems.map(({ answer }) => answer?.answerId));
  const expected = others.filter((id) => begunIds.has(id) || alone.includes(id)).sort();
  await until('the others are completed', () => expected.every((id) => completed().includes(id)));
  expect(scene.agents.deathCalls).toEqual([died.length]);
  expect(deaths()).toHaveLength(1);
  const begunShared = scene.agents.begunItems.filter((item) => item.shared).map(({ answer }) => answer?.answerId);
  expect(begunShared.filter((id) => alone.includes(id ?? ''))).toEqual([]);
  expect(scene.agents.begunItems.filter(({ apart }) => apart).map(({ answer }) => answer?.answerId)).toEqual(expect.arrayContaining(alone));
  expect(worker.children().length).toBeLessThanOrEqual(2);
});

test('a process that hangs without dying is killed and reported, and one that answers pings is not', async () => {
  const deaths: Death[] = [];
  const callsBefore = scene.model.calls.length;
  const environment = await settingsFor(scene);
  const onDeath = async (death: Death) => void deaths.push(death);
  const [hanging, living] = [0, 1].map(() => startApartProcess({ environment, onDeath, pingEveryMs: 50 })) as [ApartProcess, ApartProcess];
  scene.model.follow(() => ({ kind: 'silence' }));
  const never = new AbortController();
  const jobs = newIds('hanging', 2).map((answerId) => ({ ...tenant, answerId, dispatch: 2 }));
  const runs = [hanging.run(jobs[0] as ApartJob, never.signal), living.run(jobs[1] as ApartJob, never.signal)];
  await until('the model is called for both', () => scene.model.calls.length === callsBefore + 2);
  process.kill(hanging.pid, 'SIGSTOP');
  await runs[0];
  expect(deaths).toMatchObject([{ how: 'SIGKILL', runs: [{ job: jobs[0], attempt: 1 }] }]);
  expect(isAlive(living.pid)).toBe(true);
  never.abort();
  await runs[1];
  await living.end();
  expect(deaths).toHaveLength(1);
});

test('SIGTERM: all answers of a shared process are returned in time, and none is reported as lost', async () => {
  scene.model.follow(() => ({ kind: 'silence' }));
  const callsBefore = scene.model.calls.length;
  await scene.dispatcher.dispatch(newIds('silent', 80), 2, 'answerApart', true);
  await until('all are begun', () => scene.agents.begunItems.length === 80 && scene.model.calls.length - callsBefore === 80);
  expect(worker.children()).toHaveLength(2);
  process.stdout.write(
    `shared processes with ${80 / worker.children().length} answers each: ${worker.children().map(residentKB).join(', ')} kB\n`,
  );
  worker.signal('SIGTERM');
  expect(await worker.ended).toBe(0);
  expect([scene.agents.returned.length, scene.agents.died]).toEqual([80, []]);
});

test('SIGTERM: an answer that runs apart is returned in time and is not reported as lost', async () => {
  scene.model.follow(() => ({ kind: 'silence' }));
  const callsBefore = scene.model.calls.length;
  await scene.dispatcher.dispatch(newIds('silent'), 2, 'answerApart');
  await until('the model is called', () => scene.model.calls.length > callsBefore);
  await until('it is begun', () => worker.children().length === 1);
  worker.signal('SIGTERM');
  expect(await worker.ended).toBe(0);
  expect(worker.log.filter(({ event }) => event === 'stop_failed')).toEqual([]);
  expect([scene.agents.returned.length, scene.agents.died]).toEqual([1, []]);
});

const residentKB = (pid: number) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a process that is ended while it runs an answer returns it, and the answer is not reported as lost', async () => {
  const deaths: Death[] = [];
  const apart = startApartProcess({ environment: await settingsFor(scene), onDeath: async (death: Death) => void deaths.push(death) });
  scene.model.follow(() => ({ kind: 'silence' }));
  const callsBefore = scene.model.calls.length;
  const [answerId = ''] = newIds('interrupted', 1);
  const run = apart.run({ ...tenant, answerId, dispatch: 2 }, new AbortController().signal);
  await until('the model is called', () => scene.model.calls.length > callsBefore);
  await apart.end();
  await run;
  expect([scene.agents.returned.map(({ answer }) => answer?.answerId), deaths]).toEqual([[answerId], []]);
});

test('a process that is no longer needed ends at once, although workers leave their service slowly', async () => {
  const environment = { ...(await settingsFor(scene)), DRAIN_DELAY_MS: '60000' };
  const deaths: Death[] = [];
  const apart = startApartProcess({ environment, onDeath: async (death: Death) => void deaths.push(death), pingEveryMs: 50 });
  const [answerId = ''] = newIds('draining', 1);
  await apart.run({ ...tenant, answerId, dispatch: 2 }, new AbortController().signal);
  await apart.end();
  expect(isAlive(apart.pid)).toBe(false);
  expect(deaths).toEqual([]);
});
