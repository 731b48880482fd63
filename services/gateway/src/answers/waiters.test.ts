import { describe, expect, test } from '@jest/globals';
import { answerMessage, pending } from '../../test/support/agents-peer.ts';
import { type AnswerKey, type AnswerState, type Waiter, WaiterRegistry } from './waiters.ts';

const keyOf = (answerId: string): AnswerKey => ({ organizationId: 'org_a', environment: 'live', answerId });

/** A waiting room with a clock of its own, and answers that are what the test says. */
function room() {
  const clock = { now: 1_000_000, gapAt: 0 };
  const reads: string[] = [];
  const states = new Map<string, AnswerState | Error>();
  const waits = new WaiterRegistry({
    now: () => clock.now,
    lastGapAt: () => clock.gapAt,
    read: async ({ answerId }) => {
      reads.push(answerId);
      const state = states.get(answerId) ?? { message: pending(answerId) };
      if (state instanceof Error) throw state;
      return state;
    },
  });
  return {
    waits,
    clock,
    reads,
    states,
    /** Advances the clock in steps, with a tick and the replies to its reads in each. */
    async pass(ms: number) {
      for (const end = clock.now + ms; clock.now < end; ) {
        clock.now += 200;
        waits.tick();
        for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
      }
    },
  };
}

function listener() {
  const received: string[] = [];
  const waiter: Waiter = {
    take: (reply) => received.push(reply.kind),
    interrupted: () => received.push('interrupted'),
    end: (reason) => received.push(reason),
  };
  return { received, waiter };
}

const ended = (id: string) => ({ kind: 'ended' as const, id, message: answerMessage(id) });

describe('the waiter registry', () => {
  test('notifies a waiter of its own answer, and of nothing after its close', () => {
    const { waits } = room();
    const [ours, theirs] = [listener(), listener()];
    const wait = waits.open(keyOf('msg_1'), ours.waiter);
    waits.open(keyOf('msg_2'), theirs.waiter);
    waits.deliver([{ kind: 'started', id: 'msg_1', attempt: 1 }, ended('msg_3')]);
    wait.close();
    wait.close();
    waits.deliver([ended('msg_1')]);
    expect([ours.received, theirs.received, waits.size]).toEqual([['started'], [], 1]);
  });

  test('gives an answer to each of its waiters, and removes only the waiter that closes', () => {
    const { waits } = room();
    const both = [listener(), listener()];
    const [first] = both.map(({ waiter }) => waits.open(keyOf('msg_1'), waiter));
    first?.close();
    waits.deliver([ended('msg_1')]);
    expect(both.map(({ received }) => received)).toEqual([[], ['ended']]);
  });

  test('moves a waiter to the answer that an earlier request with the same key started', async () => {
    const { waits, states, reads, pass } = room();
    const { received, waiter } = listener();
    const wait = waits.open(keyOf('msg_new'), waiter);
    states.set('msg_old', { message: answerMessage('msg_old') });
    wait.accepted('msg_old', { dueAtMs: Number.POSITIVE_INFINITY, mayHaveEnded: true });
    waits.deliver([ended('msg_new')]);
    expect(received).toEqual([]);
    await pass(200);
    expect([received, reads]).toEqual([['ended'], ['msg_old']]);
  });
});

test('a wait that is closed before its message is accepted, or while its answer is read, gets nothing and is forgotten', async () => {
  const { waits, states, reads, pass } = room();
  const [early, reading] = [listener(), listener()];
  const wait = waits.open(keyOf('msg_new'), early.waiter);
  wait.close();
  wait.accepted('msg_old', { dueAtMs: Number.POSITIVE_INFINITY, mayHaveEnded: false });
  states.set('msg_1', { message: answerMessage('msg_1') });
  const other = waits.open(keyOf('msg_1'), reading.waiter);
  other.accepted('msg_1', { dueAtMs: Number.POSITIVE_INFINITY, mayHaveEnded: true });
  other.close();
  await pass(200);
  expect([early.received, reading.received, reads, waits.size]).toEqual([[], [], ['msg_1'], 0]);
});

describe('a lost reply', () => {
  test('costs a second', async () => {
    const { waits, states, reads, pass } = room();
    const { received, waiter } = listener();
    waits.open(keyOf('msg_1'), waiter).accepted('msg_1', { dueAtMs: Number.POSITIVE_INFINITY, mayHaveEnded: false });
    states.set('msg_1', { message: answerMessage('msg_1') });
    await pass(800);
    expect([received, reads]).toEqual([[], []]);
    await pass(400);
    expect([received, reads]).toEqual([['ended'], ['msg_1']]);
  });

  test('is read once a second until the answer exists, also after failed reads', async () => {
    const { waits, states, reads, pass } = room();
    const { received, waiter } = listener();
    waits.open(keyOf('msg_1'), waiter).accepted('msg_1', { dueAtMs: Number.POSITIVE_INFINITY, mayHaveEnded: false });
    states.set('msg_1', new Error('away'));
    await pass(5_200);
    expect([received, reads.length]).toEqual([[], 5]);
    states.set('msg_1', { message: answerMessage('msg_1', { status: 'cancelled' }) });
    await pass(1_200);
    expect(received).toEqual(['ended']);
  });

  test('is not asked for before the message was accepted: it could not be there yet', async () => {
    const { waits, reads, pass } = room();
    waits.open(keyOf('msg_1'), listener().waiter);
    await pass(3_000);
    expect(reads).toEqual([]);
  });

  test('is sent at once to callers that follow the text', () => {
    const { waits, clock } = room();
    const { received, waiter } = listener();
    waits.open(keyOf('msg_1'), waiter);
    clock.gapAt = 5;
    waits.deliver([{ kind: 'delta', id: 'msg_1', attempt: 1, text: 'x' }]);
    waits.tick();
    expect(received).toEqual(['interrupted', 'delta']);
  });
});

test('a wait ends at its limit', async () => {
  const { waits, clock, pass } = room();
  const { received, waiter } = listener();
  waits.open(keyOf('msg_1'), waiter).accepted('msg_1', { dueAtMs: clock.now + 2_000, mayHaveEnded: false });
  await pass(1_800);
  expect(received).toEqual([]);
  await pass(200);
  expect([received, waits.size]).toEqual([['expired'], 0]);
});

test('a deleted answer ends its wait', async () => {
  const { waits, states, pass } = room();
  const { received, waiter } = listener();
  waits.open(keyOf('msg_1'), waiter).accepted('msg_1', { dueAtMs: Number.POSITIVE_INFINITY, mayHaveEnded: false });
  states.set('msg_1', { message: null });
  await pass(1_200);
  expect([received, waits.size]).toEqual([['deleted'], 0]);
});

describe('when the process stops', () => {
  test('those who wait have their answers first', async () => {
    const { waits } = room();
    const { received, waiter } = listener();
    const wait = waits.open(keyOf('msg_1'), { ...waiter, take: () => wait.close() });
    wait.accepted('msg_1', { dueAtMs: Number.POSITIVE_INFINITY, mayHaveEnded: false });
    const drained = waits.drain(60_000);
    waits.deliver([ended('msg_1')]);
    await drained;
    expect(received).toEqual([]);
  });

  test('one whose message turns out to have been accepted before still waits', async () => {
    const { waits, clock } = room();
    const { received, waiter } = listener();
    const take: Waiter['take'] = (reply) => {
      waiter.take(reply);
      wait.close();
    };
    const wait = waits.open(keyOf('msg_1'), { ...waiter, take });
    const drained = waits.drain(60_000);
    wait.accepted('msg_before', { dueAtMs: clock.now + 60_000, mayHaveEnded: false });
    await Promise.resolve();
    waits.deliver([ended('msg_before')]);
    await drained;
    expect(received).toEqual(['ended']);
  });

  test('the others are ended when the time is over, and so are later ones', async () => {
    const { waits, clock } = room();
    const [early, between, late] = [listener(), listener(), listener()];
    waits.open(keyOf('msg_1'), early.waiter).accepted('msg_1', { dueAtMs: clock.now + 60_000, mayHaveEnded: false });
    const sending = waits.open(keyOf('msg_2'), between.waiter);
    await waits.drain(1);
    expect([early.received, between.received]).toEqual([['expired'], []]);
    sending.accepted('msg_2', { dueAtMs: clock.now + 60_000, mayHaveEnded: false });
    waits.open(keyOf('msg_3'), late.waiter).accepted('msg_3', { dueAtMs: clock.now + 60_000, mayHaveEnded: false });
    expect([between.received, late.received, waits.size]).toEqual([['expired'], ['expired'], 0]);
  });
});
