import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Scene, setScene, usualAnswer } from './support/scene.ts';
import { startWorkerProcess, type WorkerProcess } from './support/worker-process.ts';

/** A measurement uses 2,000; the usual run shares its machine and uses fewer. */
const answers = Number(process.env['ANSWERS_AT_ONCE'] ?? 500);
/** Long enough for all to be in flight and for their leases to be renewed every 5 s. */
const modelMs = 6_000 + answers;
const maxRenewedPerCall = 1_000;
const largestAnswerKB = 100;

let scene: Scene;
let worker: WorkerProcess;

beforeAll(async () => {
  scene = await setScene();
  worker = await startWorkerProcess(scene, { ANSWER_CONCURRENCY: String(answers), LOG_LEVEL: 'warn' });
  await until('the worker is ready', worker.isReady);
});
afterAll(async () => {
  await worker?.kill();
  await scene?.stop();
});

test(`${answers} answers at once in one worker: all are completed, once, and a waiting one is small`, async () => {
  // Compiled code and pools are there before the measurement.
  await run('warm', Math.min(100, answers), 0);
  scene.reset();
  const callsBefore = scene.model.calls.length;
  const before = worker.residentKB();
  const cpuBefore = worker.cpuMs();
  const began = performance.now();
  const finished = run('msg', answers, modelMs);
  await until('all are in flight', () => scene.model.calls.length === callsBefore + answers);
  const allAskedMs = performance.now() - began;
  const each = (worker.residentKB() - before) / answers;
  await finished;
  const cpuEach = (worker.cpuMs() - cpuBefore) / answers;
  process.stdout.write(
    `answers at once: ${answers}; all asked after ${Math.round(allAskedMs)} ms; ${each.toFixed(1)} kB and ${cpuEach.toFixed(2)} ms CPU each; ` +
      `completed in ${scene.agents.completeCalls.length} calls\n`,
  );
  expect(new Set(scene.agents.completed.map(({ answer }) => answer?.answer?.answerId)).size).toBe(answers);
  expect(scene.agents.completed).toHaveLength(answers);
  const renewed = scene.agents.renewed.filter(({ length }) => length > 0);
  expect(new Set(renewed.flat().map(({ answer }) => answer?.answerId)).size).toBe(answers);
  expect(Math.max(...renewed.map(({ length }) => length))).toBeLessThanOrEqual(maxRenewedPerCall);
  // One round every 5 s, or every second after a failure; never one call for each answer.
  expect(renewed.length).toBeLessThanOrEqual(Math.ceil((performance.now() - began) / 1_000) * Math.ceil(answers / maxRenewedPerCall));
  expect(each).toBeLessThan(largestAnswerKB);
}, 180_000);

async function run(prefix: string, count: number, delayMs: number): Promise<void> {
  scene.model.follow(() => ({ kind: 'text', text: usualAnswer, delayMs }));
  const expected = scene.agents.completed.length + count;
  await scene.dispatcher.dispatch(Array.from({ length: count }, (_, index) => `${prefix}_${index}`));
  await until('all are completed', () => scene.agents.completed.length >= expected, 120_000);
}
