import type { RunningProcess } from '@agent-service/runtime';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { bootWorker, eventually, type Scene, setScene, usualAnswer } from './support/scene.ts';

let scene: Scene;
let worker: RunningProcess;
let serial = 0;

beforeAll(async () => {
  scene = await setScene();
  worker = await bootWorker(scene, {}, { renewEveryMs: 200 });
}, 60_000);
afterAll(async () => {
  await worker?.stop();
  await scene?.stop();
}, 60_000);
beforeEach(() => scene.reset());

const newId = () => `msg_${++serial}`;
const keyOf = (answerId: string, attempt = 1) => ({ answer: { organizationId: 'org_a', environment: 'live', answerId }, attempt });

async function dispatched(script: Partial<Scene['agents']['script']> = {}): Promise<string> {
  const id = newId();
  Object.assign(scene.agents.script, script);
  await scene.dispatcher.dispatch([id]);
  return id;
}

const inHand = async () => (await worker.metrics.registry.getSingleMetric('answers_in_hand')?.get())?.values[0]?.value;
const idle = () => eventually('nothing is in hand', async () => (await inHand()) === 0 && (await scene.dispatcher.counts()).active === 0);

test('an answer that is not its to take up is left alone', async () => {
  const calls = scene.model.calls.length;
  await dispatched({ begin: () => 'attempt_superseded' });
  await eventually('the refusal has come', () => scene.agents.begun.length === 1);
  await idle();
  expect(scene.model.calls).toHaveLength(calls);
  expect([scene.agents.completed, scene.agents.failed, scene.agents.returned, scene.dispatcher.replies]).toEqual([[], [], [], []]);
});

test('an answer is asked of the model with all that belongs to it, and its result is told with its tokens', async () => {
  scene.model.follow(() => ({ kind: 'text', text: 'Fine.', usage: { prompt_tokens: 31, completion_tokens: 2 } }));
  const history = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Good day' },
  ];
  const id = await dispatched({ begin: () => ({ attempt: 3, history, message: 'And now?', replyChannels: [scene.dispatcher.channel] }) });
  await eventually('it is completed', () => scene.agents.completed.length === 1);
  expect(scene.agents.completed).toEqual([
    { answer: keyOf(id, 3), content: 'Fine.', contentType: 'markdown', inputTokens: 31, outputTokens: 2, queries: [] },
  ]);
  const asked = scene.model.calls.at(-1);
  expect(asked?.stream ?? false).toBe(false);
  expect(asked?.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  expect(JSON.stringify(asked?.messages)).toMatch(/You answer shortly.*Hello.*Good day.*And now\?/);
  // Nobody streams: nobody is told of beginnings and parts.
  expect(scene.dispatcher.of(id)).toEqual([]);
});

test('an answer in plain text is asked for and told as such, and without charts', async () => {
  await dispatched({ begin: () => ({ outputPreferences: { defaultFormat: 'text', chartEnabled: true } }) });
  await eventually('it is completed', () => scene.agents.completed.length === 1);
  expect(scene.agents.completed[0]?.contentType).toBe('text');
  const system = JSON.stringify(scene.model.calls.at(-1)?.messages[0]);
  expect([system.includes('plain text'), system.includes('vega-lite')]).toEqual([true, false]);
});

test('who streams is told of the beginning and gets the text in order, the first piece at once and the others joined', async () => {
  const text = Array.from({ length: 60 }, (_, index) => `word${index} `).join('');
  scene.model.follow(() => ({ kind: 'text', text, pieceDelayMs: 2 }));
  const id = await dispatched({ begin: () => ({ stream: true, replyChannels: [scene.dispatcher.channel, 'nobody'] }) });
  await eventually('it is completed', () => scene.agents.completed.length === 1);
  const read = () => scene.dispatcher.of(id).flatMap((reply) => (reply.kind === 'delta' ? [reply.text] : []));
  await eventually('all has been read', () => read().join('') === text);
  const replies = scene.dispatcher.of(id);
  expect(replies[0]).toEqual({ kind: 'started', id, attempt: 1 });
  expect(replies.every((reply) => reply.kind !== 'ended' && reply.attempt === 1)).toBe(true);
  expect(read()[0]).toBe('word0 ');
  expect(read().length).toBeLessThan(30);
  expect(scene.agents.completed[0]?.content).toBe(text);
});

test('a stream that breaks begins anew: what was read is void, and the result is the second try alone', async () => {
  let tries = 0;
  scene.model.follow(() => (tries++ === 0 ? { kind: 'unfinished', text: 'Half an', by: 'cut' } : { kind: 'text', text: 'A whole one' }));
  const id = await dispatched({ begin: () => ({ stream: true, replyChannels: [scene.dispatcher.channel] }) });
  await eventually('it is completed', () => scene.agents.completed.length === 1);
  await eventually('the end was read', () => JSON.stringify(scene.dispatcher.of(id)).includes('one'));
  const kinds = scene.dispatcher.of(id).map((reply) => (reply.kind === 'delta' ? reply.text : reply.kind));
  const last = kinds.lastIndexOf('started');
  expect([kinds.slice(0, last).join(''), kinds.slice(last + 1).join('')]).toEqual(['startedHalf an', 'A whole one']);
  expect(scene.agents.completed[0]?.content).toBe('A whole one');
});

test('what the provider refuses ends the answer as failed, without a word of the provider', async () => {
  scene.model.follow(() => ({ kind: 'failure', status: 401, message: 'bad key sk-123' }));
  const id = await dispatched();
  await eventually('it is failed', () => scene.agents.failed.length === 1);
  expect(scene.agents.failed[0]).toMatchObject({ answer: keyOf(id), failure: { code: 'provider_error' } });
  expect(scene.agents.failed[0]?.failure?.message).not.toContain('sk-123');
  expect(scene.agents.completed).toEqual([]);
});

test('a tier that does not exist is a fault of ours, and the answer does not stay open for it', async () => {
  await dispatched({ begin: () => ({ model: 'Enormous' }) });
  await eventually('it is failed', () => scene.agents.failed[0]?.failure?.code === 'internal');
});

/** Dispatches an answer that the model never gives, and lets something happen; the connection to the model has to be closed by it. */
async function abandonedBy(what: (id: string) => void, script: Partial<Scene['agents']['script']> = {}): Promise<string> {
  scene.model.follow(() => ({ kind: 'silence' }));
  const asked = scene.model.calls.length;
  const { abandoned } = scene.model;
  const id = await dispatched(script);
  await eventually('the model is asked', () => scene.model.calls.length > asked);
  what(id);
  await eventually('the connection to the model is closed', () => scene.model.abandoned > abandoned);
  await idle();
  return id;
}

const told = () => [scene.agents.completed, scene.agents.failed, scene.agents.returned];
const nothing = () => undefined;

test('an answer that nobody wants any more is let go at once, and nothing is told of it', async () => {
  await abandonedBy((id) => {
    scene.dispatcher.notice(scene.agents.workerChannel, { kind: 'unwanted', id, attempt: 1 });
  });
  expect(told()).toEqual([[], [], []]);
});

test('a notice about another attempt changes nothing', async () => {
  scene.model.follow(() => ({ kind: 'text', text: usualAnswer, delayMs: 150 }));
  const asked = scene.model.calls.length;
  const id = await dispatched({ begin: () => ({ attempt: 2 }) });
  await eventually('the model is asked', () => scene.model.calls.length > asked);
  scene.dispatcher.notice(scene.agents.workerChannel, { kind: 'unwanted', id, attempt: 1 });
  await eventually('it is completed', () => scene.agents.completed.length === 1);
});

test('all leases are kept in one call; an answer whose lease is lost is let go, the others are not', async () => {
  const gate = Promise.withResolvers<void>();
  scene.model.follow(() => gate.promise.then(() => ({ kind: 'text', text: usualAnswer })));
  const ids = [newId(), newId(), newId()];
  const [lost] = ids;
  const { abandoned } = scene.model;
  await scene.dispatcher.dispatch(ids);
  await eventually('one call keeps them all', () => scene.agents.renewed.at(-1)?.length === ids.length);
  scene.agents.script.isLost = ({ answer }) => answer?.answerId === lost;
  await eventually('the lost one is let go', () => scene.model.abandoned === abandoned + 1);
  await eventually('only the others are kept', () => scene.agents.renewed.at(-1)?.length === ids.length - 1);
  gate.resolve();
  await eventually('the others are completed', () => scene.agents.completed.length === 2);
  await idle();
  expect(scene.agents.completed.map(({ answer }) => answer?.answer?.answerId)).not.toContain(lost);
});

test('a deadline that passes ends the answer as failed, and the call of the model with it', async () => {
  const id = await abandonedBy(nothing, { begin: () => ({ deadlineMs: Date.now() + 300 }) });
  expect(scene.agents.failed).toMatchObject([{ answer: keyOf(id), failure: { code: 'answer_timeout' } }]);
});

test('a newer attempt that comes to the same worker takes the place of the older', async () => {
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

test('while agents is away a result is kept, and told when it is back; the model is not asked twice', async () => {
  const asked = scene.model.calls.length;
  scene.model.follow(() => ({ kind: 'text', text: 'Kept.', delayMs: 300 }));
  await dispatched();
  await eventually('the model is asked', () => scene.model.calls.length > asked);
  await scene.agents.stop();
  const again = () => worker.metrics.registry.getSingleMetric('answer_calls_repeated_total')?.get();
  await eventually(
    'it was tried several times',
    async () => ((await again())?.values.find(({ labels }) => labels['call'] === 'complete')?.value ?? 0) > 3,
  );
  await scene.agents.start();
  await eventually('it is completed', () => scene.agents.completed.length === 1);
  expect(scene.agents.completed[0]?.content).toBe('Kept.');
  expect(scene.model.calls).toHaveLength(asked + 1);
});

test('while agents is away jobs wait for it, and ask for the same attempt again', async () => {
  let refusals = 3;
  await dispatched({ begin: () => (refusals-- > 0 ? 'unavailable' : {}) });
  await eventually('it is completed', () => scene.agents.completed.length === 1);
  expect(scene.agents.begun).toHaveLength(4);
  expect(new Set(scene.agents.begun.map(({ claim }) => claim)).size).toBe(1);
});

test('a result that comes too late is refused and dropped', async () => {
  await dispatched({ complete: () => 'attempt_superseded' });
  await eventually('the result was told', () => scene.agents.completed.length === 1);
  await idle();
  expect([scene.agents.completed.length, scene.agents.failed, scene.agents.returned]).toEqual([1, [], []]);
});

test('a result that agents will never take ends the answer as failed', async () => {
  const id = await dispatched({ complete: () => 'invalid_request' });
  await eventually('it is failed', () => scene.agents.failed.length === 1);
  expect(scene.agents.failed[0]).toMatchObject({ answer: keyOf(id), failure: { code: 'internal' } });
});

test('a result for whose sake calls are refused as a whole holds up no other', async () => {
  scene.model.follow(() => ({ kind: 'text', text: usualAnswer, delayMs: 100 }));
  const ids = Array.from({ length: 20 }, newId);
  const [poison] = ids;
  scene.agents.script.complete = ({ answer }) => {
    if (answer?.answer?.answerId === poison) throw new Error('a fault in agents');
    return undefined;
  };
  await scene.dispatcher.dispatch(ids);
  await eventually('the others are completed', () => scene.agents.completed.length === ids.length - 1);
  scene.agents.script.complete = () => undefined;
  await eventually('and it as well when the fault is mended', () => scene.agents.completed.length === ids.length);
});
