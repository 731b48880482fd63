import { setTimeout as pause } from 'node:timers/promises';
import type { JobWorker } from '@agent-service/queues';
import type { ProcessContext } from '@agent-service/runtime';
import { until } from '@agent-service/testkit';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { AssignedAnswer, Offer } from './answers-api.ts';
import { takeAssignedAnswers } from './assigned-answers.ts';

interface Call {
  readonly replica: string;
  readonly offer: Offer;
  respond(answerIds: readonly string[]): void;
  fail(): void;
}

const jobs = { active: 0, setReserved: () => undefined, run: () => new Promise<never>(() => undefined) } as unknown as JobWorker;
let serving: string[];
let calls: Call[];
let confirmed: string[];
/** Confirmations fail at once. */
let areAway: boolean;
/** A replica that answers no confirmation. */
let frozen: string;
let stops: (() => Promise<void>)[];
let stopping: AbortController;
/** How often the worker has asked which replicas serve. */
let looks: number;

beforeEach(() => {
  serving = ['agents-1', 'agents-2'];
  calls = [];
  confirmed = [];
  areAway = false;
  frozen = '';
  stops = [];
  stopping = new AbortController();
  looks = 0;
  const process = {
    stopping: stopping.signal,
    logger: { debug: () => undefined, warn: () => undefined },
    onStop: (_name: string, stop: () => Promise<void>) => void stops.push(stop),
  } as unknown as ProcessContext;
  takeAssignedAnswers(process, {
    answers: { replicas, wait },
    jobs,
    capacity: 80,
    maxActive: 100,
    run: async () => undefined,
  });
});

afterEach(async () => {
  stopping.abort();
  const stopped = Promise.all(stops.map((stop) => stop()));
  for (const { respond } of calls) respond([]);
  await stopped;
});

const replicas = () => {
  looks += 1;
  return serving;
};

/** Each call with a capacity waits until the test ends it. */
function wait(replica: string, offer: Offer): Promise<readonly AssignedAnswer[]> {
  if (offer.capacity === 0) {
    confirmed.push(...(offer.receivedAnswerIds ?? []));
    if (replica === frozen) return new Promise(() => undefined);
    return areAway ? new Promise((_, reject) => setImmediate(reject, new Error('it has gone'))) : Promise.resolve([]);
  }
  const { promise, resolve, reject } = Promise.withResolvers<readonly AssignedAnswer[]>();
  const respond = (answerIds: readonly string[]) =>
    resolve(
      answerIds.map((answerId) => ({ answer: { organizationId: 'org_a', environment: 'live', answerId }, attempt: {} }) as AssignedAnswer),
    );
  calls.push({ replica, offer, respond, fail: () => reject(new Error('the connection is lost')) });
  confirmed.push(...(offer.receivedAnswerIds ?? []));
  return promise;
}

const callsAt = (replica: string): Call[] => calls.filter((call) => call.replica === replica);

test('an answer that came by an old wait at a replica that was not serving for a while is confirmed', async () => {
  const [old] = callsAt('agents-1');
  serving = ['agents-2'];
  const before = looks;
  await until('the change is noticed', () => looks > before + 1);
  old?.respond(['msg_1']);
  await until('it is confirmed', () => confirmed.includes('msg_1'));
  expect(callsAt('agents-1')).toHaveLength(4);
});

test('an answer is confirmed again if the call that confirmed it failed', async () => {
  const [first, second] = callsAt('agents-1');
  first?.respond(['msg_2']);
  await until('it is confirmed', () => confirmed.includes('msg_2'));
  const last = callsAt('agents-1').at(-1);
  expect(last?.offer.receivedAnswerIds).toEqual(['msg_2']);
  last?.fail();
  await until('it is confirmed again', () => confirmed.filter((id) => id === 'msg_2').length === 2);
  second?.respond([]);
});

test('a worker that stops does not repeat a confirmation until its replica is back', async () => {
  const [first] = callsAt('agents-1');
  areAway = true;
  stopping.abort();
  const stopped = Promise.all(stops.splice(0).map((stop) => stop()));
  first?.respond(['msg_3']);
  for (const { respond } of calls) respond([]);
  const late = pause(1_000, 'it still stops');
  const outcome = await Promise.race([stopped.then(() => 'it has stopped'), late]);
  areAway = false;
  await stopped;
  expect(outcome).toBe('it has stopped');
  expect(confirmed).toEqual(['msg_3']);
});

test('a worker that stops does not wait for a replica that is frozen', async () => {
  frozen = 'agents-2';
  stopping.abort();
  const stopped = Promise.all(stops.splice(0).map((stop) => stop()));
  for (const { respond } of callsAt('agents-1')) respond(['msg_4']);
  const late = pause(3_000, 'it still stops');
  expect(await Promise.race([stopped.then(() => 'it has stopped'), late])).toBe('it has stopped');
  expect(confirmed).toContain('msg_4');
});
