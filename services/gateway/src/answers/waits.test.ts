import { describe, expect, test } from '@jest/globals';
import { answerMessage, pending } from '../../test/support/agents-peer.ts';
import { type AnswerKey, type Standing, type Waiter, Waits } from './waits.ts';

const keyOf = (answerId: string): AnswerKey => ({ organizationId: 'org_a', environment: 'live', answerId });

/** A waiting room with a clock of its own, and answers that are what the test says. */
function room() {
  const clock = { now: 1_000_000, gapAt: 0 };
  const reads: string[] = [];
  const standings = new Map<string, Standing | Error>();
  const waits = new Waits({
    now: () => clock.now,
    lastGapAt: () => clock.gapAt,
    read: async ({ answerId }) => {
      reads.push(answerId);
      const standing = standings.get(answerId) ?? { message: pending(answerId), attempt: 0 };
      if (standing instanceof Error) throw standing;
      return standing;
    },
  });
  return {
    waits,
    clock,
    reads,
    standings,
    /** Time passes in the steps in which it is looked at, and what was asked is answered. */
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
  const heard: string[] = [];
  const waiter: Waiter = {
    take: (reply) => heard.push(reply.kind),
    interrupted: () => heard.push('interrupted'),
    end: (reason) => heard.push(reason),
  };
  return { heard, waiter };
}

const ended = (id: string) => ({ kind: 'ended' as const, id, message: answerMessage(id) });

describe('who waits', () => {
  test('hears of their own answer, and of nothing after they left', () => {
    const { waits } = room();
    const [ours, theirs] = [listener(), listener()];
    const wait = waits.open(keyOf('msg_1'), ours.waiter);
    waits.open(keyOf('msg_2'), theirs.waiter);
    waits.deliver([{ kind: 'started', id: 'msg_1', attempt: 1 }, ended('msg_3')]);
    wait.close();
    wait.close();
    waits.deliver([ended('msg_1')]);
    expect([ours.heard, theirs.heard, waits.size]).toEqual([['started'], [], 1]);
  });

  test('shares an answer with others, and takes only their own place away', () => {
    const { waits } = room();
    const both = [listener(), listener()];
    const [first] = both.map(({ waiter }) => waits.open(keyOf('msg_1'), waiter));
    first?.close();
    waits.deliver([ended('msg_1')]);
    expect(both.map(({ heard }) => heard)).toEqual([[], ['ended']]);
  });

  test('moves with the answer when it is another one’s that was asked for before', async () => {
    const { waits, standings, reads, pass } = room();
    const { heard, waiter } = listener();
    const wait = waits.open(keyOf('msg_new'), waiter);
    standings.set('msg_old', { message: answerMessage('msg_old'), attempt: 1 });
    wait.accepted('msg_old', Number.POSITIVE_INFINITY, true);
    waits.deliver([ended('msg_new')]);
    expect(heard).toEqual([]);
    await pass(200);
    expect([heard, reads]).toEqual([['ended'], ['msg_old']]);
  });
});

describe('a lost reply', () => {
  test('costs a second', async () => {
    const { waits, standings, reads, pass } = room();
    const { heard, waiter } = listener();
    waits.open(keyOf('msg_1'), waiter).accepted('msg_1', Number.POSITIVE_INFINITY, false);
    standings.set('msg_1', { message: answerMessage('msg_1'), attempt: 1 });
    await pass(800);
    expect([heard, reads]).toEqual([[], []]);
    await pass(400);
    expect([heard, reads]).toEqual([['ended'], ['msg_1']]);
  });

  test('is asked for once a second while the answer is not there, also when asking fails', async () => {
    const { waits, standings, reads, pass } = room();
    const { heard, waiter } = listener();
    waits.open(keyOf('msg_1'), waiter).accepted('msg_1', Number.POSITIVE_INFINITY, false);
    standings.set('msg_1', new Error('away'));
    await pass(5_200);
    expect([heard, reads.length]).toEqual([[], 5]);
    standings.set('msg_1', { message: answerMessage('msg_1', { status: 'cancelled' }), attempt: 1 });
    await pass(1_200);
    expect(heard).toEqual(['ended']);
  });

  test('is not asked for before the message was accepted: it could not be there yet', async () => {
    const { waits, reads, pass } = room();
    waits.open(keyOf('msg_1'), listener().waiter);
    await pass(3_000);
    expect(reads).toEqual([]);
  });

  test('is told to those who follow the text, at once', () => {
    const { waits, clock } = room();
    const { heard, waiter } = listener();
    waits.open(keyOf('msg_1'), waiter);
    clock.gapAt = 5;
    waits.deliver([{ kind: 'delta', id: 'msg_1', attempt: 1, text: 'x' }]);
    waits.tick();
    expect(heard).toEqual(['interrupted', 'delta']);
  });
});

test('a wait ends at its limit', async () => {
  const { waits, clock, pass } = room();
  const { heard, waiter } = listener();
  waits.open(keyOf('msg_1'), waiter).accepted('msg_1', clock.now + 2_000, false);
  await pass(1_800);
  expect(heard).toEqual([]);
  await pass(200);
  expect([heard, waits.size]).toEqual([['expired'], 0]);
});

test('an answer that is not there any more ends its wait', async () => {
  const { waits, standings, pass } = room();
  const { heard, waiter } = listener();
  waits.open(keyOf('msg_1'), waiter).accepted('msg_1', Number.POSITIVE_INFINITY, false);
  standings.set('msg_1', { message: null, attempt: 0 });
  await pass(1_200);
  expect([heard, waits.size]).toEqual([['gone'], 0]);
});

describe('when the process stops', () => {
  test('those who wait have their answers first', async () => {
    const { waits } = room();
    const { heard, waiter } = listener();
    const wait = waits.open(keyOf('msg_1'), { ...waiter, take: () => wait.close() });
    wait.accepted('msg_1', Number.POSITIVE_INFINITY, false);
    const drained = waits.drain(60_000);
    waits.deliver([ended('msg_1')]);
    await drained;
    expect(heard).toEqual([]);
  });

  test('the rest is told when the time is over, and so is who comes after it', async () => {
    const { waits, clock } = room();
    const [early, between, late] = [listener(), listener(), listener()];
    waits.open(keyOf('msg_1'), early.waiter).accepted('msg_1', clock.now + 60_000, false);
    const sending = waits.open(keyOf('msg_2'), between.waiter);
    await waits.drain(1);
    expect([early.heard, between.heard]).toEqual([['expired'], []]);
    sending.accepted('msg_2', clock.now + 60_000, false);
    waits.open(keyOf('msg_3'), late.waiter).accepted('msg_3', clock.now + 60_000, false);
    expect([between.heard, late.heard, waits.size]).toEqual([['expired'], ['expired'], 0]);
  });
});
