import { setTimeout as pause } from 'node:timers/promises';
import type { RunningProcess } from '@agent-service/runtime';
import { until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { bootWorker, type Scene, setScene, usualAnswer } from './support/scene.ts';

let scene: Scene;
let worker: RunningProcess;
let serial = 0;

beforeAll(async () => {
  scene = await setScene();
  worker = await bootWorker(scene, {}, { renewEveryMs: 200 });
});
afterAll(async () => {
  await worker?.stop();
  await scene?.stop();
});
beforeEach(() => scene.reset());

const newId = () => `msg_${++serial}`;
const keyOf = (answerId: string, attempt = 1) => ({ answer: { organizationId: 'org_a', environment: 'live', answerId }, attempt });

async function dispatched(script: Partial<Scene['agents']['script']> = {}): Promise<string> {
  const id = newId();
  Object.assign(scene.agents.script, script);
  await scene.dispatcher.dispatch([id]);
  return id;
}

const inFlight = async () => (await worker.metrics.registry.getSingleMetric('worker_answers_in_flight')?.get())?.values[0]?.value;
const idle = () => until('no answer is in flight', async () => (await inFlight()) === 0 && (await scene.dispatcher.counts()).active === 0);

test('an answer that agents refuses to begin is dropped', async () => {
  const calls = scene.model.calls.length;
  await dispatched({ begin: () => 'attempt_superseded' });
  await until('the refusal has arrived', () => scene.agents.begunItems.length === 1);
  await idle();
  expect(scene.model.calls).toHaveLength(calls);
  expect([scene.agents.completed, scene.agents.failed, scene.agents.returned, scene.dispatcher.replies]).toEqual([[], [], [], []]);
});

test('the model gets instructions, history and message, and the result is reported with its tokens', async () => {
  scene.model.follow(() => ({ kind: 'text', text: 'Fine.', usage: { prompt_tokens: 31, completion_tokens: 2 } }));
  const history = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Good day' },
  ];
  const id = await dispatched({ begin: () => ({ attempt: 3, history, message: 'And now?', replyChannels: [scene.dispatcher.channel] }) });
  await until('it is completed', () => scene.agents.completed.length === 1);
  expect(scene.agents.completed).toEqual([
    {
      answer: keyOf(id, 3),
      content: 'Fine.',
      contentType: 'markdown',
      inputTokens: 31,
      outputTokens: 2,
      queries: [],
      record: { resultJson: '', steps: [], usage: { model: 'm', inputTokens: 31, outputTokens: 2, latencyMs: expect.any(Number) } },
      refused: false,
    },
  ]);
  const call = scene.model.calls.at(-1);
  expect(call?.stream ?? false).toBe(false);
  expect(call?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  expect(JSON.stringify(call?.messages)).toMatch(/You answer shortly.*Hello.*Good day.*And now\?/);
  // Without a stream no replies are published.
  expect(scene.dispatcher.of(id)).toEqual([]);
});

test('an answer in plain text is requested and reported as plain text without charts', async () => {
  await dispatched({ begin: () => ({ outputPreferences: { defaultFormat: 'text', chartEnabled: true } }) });
  await until('it is completed', () => scene.agents.completed.length === 1);
  expect(scene.agents.completed[0]?.contentType).toBe('text');
  const system = JSON.stringify(scene.model.calls.at(-1)?.messages[0]);
  expect([system.includes('plain text'), system.includes('vega-lite')]).toEqual([true, false]);
});

test('a stream has its start and the text in order, the first piece at once and the others joined', async () => {
  const text = Array.from({ length: 60 }, (_, index) => `word${index} `).join('');
  scene.model.follow(() => ({ kind: 'text', text, pieceDelayMs: 0 }));
  const id = await dispatched({ begin: () => ({ stream: true, replyChannels: [scene.dispatcher.channel, 'unread'] }) });
  await until('it is completed', () => scene.agents.completed.length === 1);
  const read = () => scene.dispatcher.of(id).flatMap((reply) => (reply.kind === 'delta' ? [reply.text] : []));
  await until('all has been read', () => read().join('') === text);
  const replies = scene.dispatcher.of(id);
  expect(replies[0]).toEqual({ kind: 'started', id, attempt: 1 });
  expect(replies.every((reply) => reply.kind !== 'ended' && reply.attempt === 1)).toBe(true);
  expect(read()[0]).toBe('word0 ');
  expect(read().length).toBeLessThan(30);
  expect(scene.agents.completed[0]?.content).toBe(text);
});

test('a broken stream restarts: the text so far is void, and the result is that of the second attempt', async () => {
  let tries = 0;
  scene.model.follow(() => (tries++ === 0 ? { kind: 'unfinished', text: 'Half an', by: 'cut' } : { kind: 'text', text: 'A whole one' }));
  const id = await dispatched({ begin: () => ({ stream: true, replyChannels: [scene.dispatcher.channel] }) });
  await until('it is completed', () => scene.agents.completed.length === 1);
  await until('the end was read', () => JSON.stringify(scene.dispatcher.of(id)).includes('one'));
  const kinds = scene.dispatcher.of(id).map((reply) => (reply.kind === 'delta' ? reply.text : reply.kind));
  const last = kinds.lastIndexOf('started');
  expect([kinds.slice(0, last).join(''), kinds.slice(last + 1).join('')]).toEqual(['startedHalf an', 'A whole one']);
  expect(scene.agents.completed[0]?.content).toBe('A whole one');
});

test('a refusal of the provider fails the answer, without the text of the provider', async () => {
  scene.model.follow(() => ({ kind: 'failure', status: 401, message: 'bad key sk-123' }));
  const id = await dispatched();
  await until('it is failed', () => scene.agents.failed.length === 1);
  expect(scene.agents.failed[0]).toMatchObject({ answer: keyOf(id), failure: { code: 'provider_error' } });
  expect(scene.agents.failed[0]?.failure?.message).not.toContain('sk-123');
  expect(scene.agents.completed).toEqual([]);
});

test('an unknown tier fails the answer as an internal error', async () => {
  await dispatched({ begin: () => ({ model: 'Enormous' }) });
  await until('it is failed', () => scene.agents.failed[0]?.failure?.code === 'internal');
});

/** Dispatches an answer for which the model is silent, and runs an action that must close the connection to the model. */
async function abandonedBy(what: (id: string) => void, script: Partial<Scene['agents']['script']> = {}): Promise<string> {
  scene.model.follow(() => ({ kind: 'silence' }));
  const callsBefore = scene.model.calls.length;
  const { abandoned } = scene.model;
  const id = await dispatched(script);
  await until('the model is called', () => scene.model.calls.length > callsBefore);
  what(id);
  await until('the connection to the model is closed', () => scene.model.abandoned > abandoned);
  await idle();
  return id;
}

const reports = () => [scene.agents.completed, scene.agents.failed, scene.agents.returned];
const nothing = () => undefined;

test('an unwanted answer is dropped at once without a report', async () => {
  await abandonedBy((id) => {
    scene.dispatcher.notice(scene.agents.workerChannel, { kind: 'unwanted', id, attempt: 1 });
  });
  expect(reports()).toEqual([[], [], []]);
});

test('a notice about another attempt changes nothing', async () => {
  scene.model.follow(() => ({ kind: 'text', text: usualAnswer, delayMs: 150 }));
  const callsBefore = scene.model.calls.length;
  const id = await dispatched({ begin: () => ({ attempt: 2 }) });
  await until('the model is called', () => scene.model.calls.length > callsBefore);
  scene.dispatcher.notice(scene.agents.workerChannel, { kind: 'unwanted', id, attempt: 1 });
  await until('it is completed', () => scene.agents.completed.length === 1);
});

test('all leases are renewed in one call; an answer that lost its lease is dropped, and the others continue', async () => {
  const gate = Promise.withResolvers<void>();
  scene.model.follow(() => gate.promise.then(() => ({ kind: 'text', text: usualAnswer })));
  const ids = [newId(), newId(), newId()];
  const [lost] = ids;
  const { abandoned } = scene.model;
  await scene.dispatcher.dispatch(ids);
  await until('one call renews them all', () => scene.agents.renewed.at(-1)?.length === ids.length);
  scene.agents.script.isLost = ({ answer }) => answer?.answerId === lost;
  await until('the lost one is dropped', () => scene.model.abandoned === abandoned + 1);
  await until('only the others are renewed', () => scene.agents.renewed.at(-1)?.length === ids.length - 1);
  gate.resolve();
  await until('the others are completed', () => scene.agents.completed.length === 2);
  await idle();
  expect(scene.agents.completed.map(({ answer }) => answer?.answer?.answerId)).not.toContain(lost);
});

test('an expired deadline fails the answer and ends the call of the model', async () => {
  const id = await abandonedBy(nothing, { begin: () => ({ deadlineMs: Date.now() + 300 }) });
  expect(scene.agents.failed).toMatchObject([{ answer: keyOf(id), failure: { code: 'answer_timeout' } }]);
});

test('a newer attempt in the same worker replaces the older one', async () => {
  const id = await abandonedBy(
    (id) => {
      scene.agents.script.begin = () => ({ attempt: 2 });
      scene.model.follow(() => ({ kind: 'text', text: usualAnswer }));
      void scene.dispatcher.dispatch([id], 2);
    },
    { begin: () => ({ attempt: 1 }) },
  );
  expect(scene.agents.completed.map(({ answer }) => answer)).toEqual([keyOf(id, 2)]);
});

test('a result is reported when agents is available again; the model is not called twice', async () => {
  const callsBefore = scene.model.calls.length;
  scene.model.follow(() => ({ kind: 'text', text: 'Finished.', delayMs: 300 }));
  await dispatched();
  await until('the model is called', () => scene.model.calls.length > callsBefore);
  await scene.agents.stop();
  const again = () => worker.metrics.registry.getSingleMetric('answer_calls_repeated_total')?.get();
  await until(
    'the report was retried several times',
    async () => ((await again())?.values.find(({ labels }) => labels['call'] === 'complete')?.value ?? 0) > 3,
  );
  await scene.agents.start();
  await until('it is completed', () => scene.agents.completed.length === 1);
  expect(scene.agents.completed[0]?.content).toBe('Finished.');
  expect(scene.model.calls).toHaveLength(callsBefore + 1);
});

test('jobs wait while agents is unavailable, and retry with the same claim', async () => {
  let refusals = 3;
  await dispatched({ begin: () => (refusals-- > 0 ? 'unavailable' : {}) });
  await until('it is completed', () => scene.agents.completed.length === 1);
  expect(scene.agents.begunItems).toHaveLength(4);
  expect(new Set(scene.agents.begunItems.map(({ claim }) => claim)).size).toBe(1);
});

test('a worker takes no jobs while no replica of agents answers', async () => {
  await scene.agents.stop();
  let count = 0;
  // Rarely enough that the jobs of the whole time limit would not fill the worker.
  await until('a job waits in the queue', async () => {
    count += 1;
    await scene.dispatcher.dispatch([`msg_waiting_${count}`]);
    await pause(400);
    return (await scene.dispatcher.counts()).waiting > 0;
  });
  await scene.agents.start();
  await until('all are completed', () => scene.agents.completed.length === count);
});

test('a late result is refused and dropped', async () => {
  await dispatched({ complete: () => 'attempt_superseded' });
  await until('the result was reported', () => scene.agents.completed.length === 1);
  await idle();
  expect([scene.agents.completed.length, scene.agents.failed, scene.agents.returned]).toEqual([1, [], []]);
});

test('a result that agents rejects for good fails the answer', async () => {
  const id = await dispatched({ complete: () => 'invalid_request' });
  await until('it is failed', () => scene.agents.failed.length === 1);
  expect(scene.agents.failed[0]).toMatchObject({ answer: keyOf(id), failure: { code: 'internal' } });
});

test('a result that makes a whole call fail does not delay others', async () => {
  scene.model.follow(() => ({ kind: 'text', text: usualAnswer, delayMs: 100 }));
  const ids = Array.from({ length: 20 }, newId);
  const [poison] = ids;
  scene.agents.script.complete = ({ answer }) => {
    if (answer?.answer?.answerId === poison) throw new Error('a fault in agents');
    return undefined;
  };
  await scene.dispatcher.dispatch(ids);
  await until('the others are completed', () => scene.agents.completed.length === ids.length - 1);
  scene.agents.script.complete = () => undefined;
  await until('the faulty one is completed after the fix', () => scene.agents.completed.length === ids.length);
});
