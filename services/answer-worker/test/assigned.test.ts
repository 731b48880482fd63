import type { RunningProcess } from '@agent-service/runtime';
import { until } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { Offer } from './support/agents-peer.ts';
import { bootWorker, type Scene, setScene, usualAnswer } from './support/scene.ts';

/** A script of agents that holds each waiting call until the test ends it. */
class Waits {
  readonly open: { offer: Offer; respond: (answerIds: readonly string[]) => void }[] = [];
  readonly confirmed: string[] = [];
  readonly stops: Offer[] = [];

  wait(offer: Offer): Promise<{ answerId: string; attempt: object }[]> {
    this.confirmed.push(...offer.receivedAnswerIds);
    if (offer.stopping) {
      this.stops.push(offer);
      for (const { respond } of [...this.open]) respond([]);
    }
    if (offer.capacity === 0 || offer.stopping) return Promise.resolve([]);
    return new Promise((resolve) => {
      const wait = {
        offer,
        respond: (answerIds: readonly string[]) => {
          this.open.splice(this.open.indexOf(wait), 1);
          resolve(answerIds.map((answerId) => ({ answerId, attempt: {} })));
        },
      };
      this.open.push(wait);
    });
  }

  get capacity(): number {
    return this.open.reduce((sum, { offer }) => sum + offer.capacity, 0);
  }
}

let scene: Scene;
let waits: Waits;
let worker: RunningProcess | undefined;

beforeAll(async () => {
  scene = await setScene();
});
afterAll(() => scene?.stop());

afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  scene.reset();
});

async function boot(settings: Record<string, string> = {}): Promise<void> {
  waits = new Waits();
  scene.agents.script.wait = (offer) => waits.wait(offer);
  worker = await bootWorker(scene, settings);
}

const completed = () => scene.agents.completed.map(({ answer }) => answer?.answer?.answerId);

test('a worker with free capacity waits for answers, runs those that it gets without a job, and confirms them', async () => {
  await boot();
  await until('it waits', () => waits.open.length === 4);
  waits.open[0]?.respond(['msg_1', 'msg_2']);
  await until('both are completed', () => completed().length === 2);
  expect(completed().sort()).toEqual(['msg_1', 'msg_2']);
  expect(scene.agents.completed[0]).toMatchObject({ content: usualAnswer, answer: { attempt: 1 } });
  expect(scene.agents.begunItems).toEqual([]);
  await until('both are confirmed and it waits again', () => waits.confirmed.length === 2 && waits.open.length === 4);
});

test('it waits for half of its concurrency at most, and for less while it runs much', async () => {
  await boot({ ANSWER_CONCURRENCY: '8' });
  await until('it waits', () => waits.capacity === 4);
  scene.model.follow(() => ({ kind: 'silence' }));
  await scene.dispatcher.dispatch(['msg_a', 'msg_b', 'msg_c', 'msg_d', 'msg_e']);
  // Four jobs are taken: the capacity that is offered is kept free for the answers that may come of it.
  await until('jobs are running', () => scene.agents.begunItems.length === 4);
  waits.open[0]?.respond(['msg_h']);
  await until('it is confirmed', () => waits.confirmed.includes('msg_h'));
  expect([waits.capacity, scene.agents.begunItems.length]).toEqual([3, 4]);
  for (const { respond } of [...waits.open]) respond([]);
});

test('beside a replica of the former version all answers come from the queue', async () => {
  worker = await bootWorker(scene);
  await scene.dispatcher.dispatch(['msg_q']);
  await until('it is completed', () => completed().includes('msg_q'));
});

test('a worker without the capacity setting takes jobs only', async () => {
  await boot({ ANSWER_WAITING_CAPACITY: '0' });
  await scene.dispatcher.dispatch(['msg_r']);
  await until('it is completed', () => completed().includes('msg_r'));
  expect(waits.open).toEqual([]);
});

test('a worker that stops ends its waits, confirms what it got and finishes or returns it', async () => {
  await boot({ ANSWER_DRAIN_MS: '300' });
  await until('it waits', () => waits.open.length === 4);
  scene.model.follow(() => ({ kind: 'silence' }));
  waits.open[0]?.respond(['msg_s']);
  await until('it is confirmed', () => waits.confirmed.includes('msg_s'));
  await worker?.stop();
  expect(waits.stops.length).toBeGreaterThan(0);
  expect(waits.open).toEqual([]);
  expect(scene.agents.returned.map(({ answer }) => answer?.answerId)).toEqual(['msg_s']);
});
