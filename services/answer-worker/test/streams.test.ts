import { ReplyFilter } from '@agent-service/queues';
import type { RunningProcess } from '@agent-service/runtime';
import { type ModelReply, type ScriptedModel, scriptedModel, until } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { bootWorker, type Scene, setScene } from './support/scene.ts';

let scene: Scene;
let spare: ScriptedModel;
let worker: RunningProcess;
let serial = 0;

beforeAll(async () => {
  scene = await setScene();
  spare = await scriptedModel(() => ({ kind: 'text', text: whole }));
  worker = await bootWorker({ ...scene, spareModelUrl: spare.url });
});
afterAll(async () => {
  await worker?.stop();
  await spare?.stop();
  await scene?.stop();
});
beforeEach(() => scene.reset());

const whole = 'From the spare one: all went well, and more than that.';

/** The text that a reader of the stream gets, without the replies for which `lost` is true. */
async function readStream(replies: readonly ModelReply[], lost: (kind: string, index: number) => boolean = () => false) {
  const callsBefore = scene.model.calls.length;
  scene.model.follow((_, call) => replies[Math.min(call - callsBefore, replies.length) - 1] ?? { kind: 'failure', status: 503 });
  const id = `msg_s${++serial}`;
  scene.agents.script.begin = () => ({ stream: true, replyChannels: [scene.dispatcher.channel] });
  await scene.dispatcher.dispatch([id]);
  await until('it is completed', () => scene.agents.completed.length === 1);
  await until('all was published', () => JSON.stringify(scene.dispatcher.of(id)).includes('than that.'));
  const filter = new ReplyFilter();
  let read = '';
  let beginnings = 0;
  for (const [index, reply] of scene.dispatcher.of(id).entries()) {
    const forwarded = lost(reply.kind, index) ? filter.interrupt() : filter.take(reply);
    if (forwarded?.kind === 'started') {
      read = '';
      beginnings += 1;
    }
    if (forwarded?.kind === 'delta') read += forwarded.text;
  }
  return { read, beginnings, content: scene.agents.completed[0]?.content };
}

const cut = (text: string): ModelReply => ({ kind: 'unfinished', text, by: 'cut' });

test('a broken stream that restarts at another endpoint is read as one text', async () => {
  const stream = await readStream([cut('Half an'), cut('Another half'), cut('A third')]);
  expect(stream).toEqual({ read: whole, beginnings: 4, content: whole });
});

test('a lost start message still voids the text before it', async () => {
  const { read, beginnings } = await readStream(
    [cut('Half an'), { kind: 'failure', status: 400 }],
    (kind, index) => kind === 'started' && index > 0,
  );
  expect(beginnings).toBe(2);
  expect(whole.startsWith(read)).toBe(true);
});
