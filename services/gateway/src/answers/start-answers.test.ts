import { setImmediate as turn } from 'node:timers/promises';
import { currentCall } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import { caller } from '../../test/support/gateway.ts';
import { createStarts, type Start } from './start-answers.ts';

interface SentBatch {
  readonly items: readonly { readonly message: string }[];
  readonly signal: AbortSignal | undefined;
}

/** Starts answers at an agents service that accepts what it gets once it is released. */
function createTestStarts() {
  const batches: SentBatch[] = [];
  const released = Promise.withResolvers<void>();
  const startAnswer = async ({ items }: { items: SentBatch['items'] }) => {
    batches.push({ items, signal: currentCall()?.signal });
    await released.promise;
    return { results: items.map(({ message }) => ({ started: { answerId: message } })) };
  };
  const start = createStarts({ startAnswer } as never);
  const send = (message: string, more: Partial<Start> = {}) =>
    start({
      item: { message, contextJson: '', principal: caller('m') } as unknown as Start['item'],
      disconnected: new AbortController().signal,
      expiresAt: performance.now() + 10_000,
      ...more,
    });
  return { batches, send, release: released.resolve };
}

const messagesOf = (batches: readonly SentBatch[]) => batches.flatMap(({ items }) => items.map(({ message }) => message));

test('a message whose caller has left, or whose time is over, is not sent, and the others of its batch get their own answers', async () => {
  const { batches, send, release } = createTestStarts();
  release();
  const outcomes = await Promise.allSettled([
    send('left', { disconnected: AbortSignal.abort() }),
    send('first'),
    send('late', { expiresAt: performance.now() - 1 }),
    send('second'),
  ]);
  expect(outcomes).toMatchObject([
    { reason: { code: 'cancelled' } },
    { value: { answerId: 'first' } },
    { reason: { code: 'deadline_exceeded' } },
    { value: { answerId: 'second' } },
  ]);
  expect(messagesOf(batches)).toEqual(['first', 'second']);
});

test('a batch is cancelled when all of its callers have left, and not before', async () => {
  const { batches, send, release } = createTestStarts();
  const [one, other] = [new AbortController(), new AbortController()];
  const sent = Promise.all([send('one', { disconnected: one.signal }), send('other', { disconnected: other.signal })]);
  while (messagesOf(batches).length < 2) await turn();
  expect(batches).toHaveLength(1);
  one.abort();
  expect(batches[0]?.signal?.aborted).toBe(false);
  other.abort();
  expect(batches[0]?.signal?.aborted).toBe(true);
  release();
  await sent;
});
