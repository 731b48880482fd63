import { ReplyFilter } from '@agent-service/queues';
import type { RunningProcess } from '@agent-service/runtime';
import { type ModelReply, type ScriptedModel, scriptedModel } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { bootWorker, eventually, type Scene, setScene } from './support/scene.ts';

let scene: Scene;
let spare: ScriptedModel;
let worker: RunningProcess;
let serial = 0;

beforeAll(async () => {
  scene = await setScene();
  spare = await scriptedModel(() => ({ kind: 'text', text: whole }));
  worker = await bootWorker({ ...scene, spareModelUrl: spare.url });
}, 60_000);
afterAll(async () => {
  await worker?.stop();
  await spare?.stop();
  await scene?.stop();
}, 60_000);
beforeEach(() => scene.reset());

const whole = 'From the spare one: all went well, and more than that.';

/** What a reader of the stream is told, `lost` of the replies aside. */
async function readStream(replies: readonly ModelReply[], lost: (kind: string, index: number) => boolean = () => false) {
  const begun = scene.model.calls.length;
  scene.model.follow((_, call) => replies[Math.min(call - begun, replies.length) - 1] ?? { kind: 'failure', status: 503 });
  const id = `msg_s${++serial}`;
  scene.agents.script.begin = () => ({ stream: true, replyChannels: [scene.dispatcher.channel] });
  await scene.dispatcher.dispatch([id]);
  await eventually('it is completed', () => scene.agents.completed.length === 1);
  await eventually('all was published', () => JSON.stringify(scene.dispatcher.of(id)).includes('than that.'));
  const filter = new ReplyFilter();
  let read = '';
  let beginnings = 0;
  for (const [index, reply] of scene.dispatcher.of(id).entries()) {
    const told = lost(reply.kind, index) ? filter.interrupt() : filter.take(reply);
    if (told?.kind === 'started') {
      read = '';
      beginnings += 1;
    }
    if (told?.kind === 'delta') read += told.text;
  }
  return { read, beginnings, content: scene.agents.completed[0]?.content };
}

const cut = (text: string): ModelReply => ({ kind: 'unfinished', text, by: 'cut' });

test('a stream that breaks and is begun again elsewhere is read as the one text that was made of it', async () => {
  const told = await readStream([cut('Half an'), cut('Another half'), cut('A third')]);
  expect(told).toEqual({ read: whole, beginnings: 4, content: whole });
}, 30_000);

test('a beginning that is lost on the way voids what came before all the same', async () => {
  const { read, beginnings } = await readStream(
    [cut('Half an'), { kind: 'failure', status: 400 }],
    (kind, index) => kind === 'started' && index > 0,
  );
  expect(beginnings).toBe(2);
  expect(whole.startsWith(read)).toBe(true);
}, 30_000);
