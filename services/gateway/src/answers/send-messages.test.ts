import { setImmediate as turn } from 'node:timers/promises';
import { currentCall, ServiceError } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import { caller } from '../../test/support/gateway.ts';
import { createMessageSender, type OutgoingMessage } from './send-messages.ts';

interface SentBatch {
  readonly items: readonly { readonly message: string }[];
  readonly signal: AbortSignal | undefined;
}

/** Sends messages to an agents service that accepts what it gets once it is released, or fails then. */
function createTestSender() {
  const batches: SentBatch[] = [];
  const cancelled: { readonly messageId: string; readonly preventAcceptance: boolean }[] = [];
  const released = Promise.withResolvers<void>();
  const agents = {
    async startAnswer({ items }: { items: SentBatch['items'] }) {
      batches.push({ items, signal: currentCall()?.signal });
      await released.promise;
      return { results: items.map(({ message }) => ({ started: { answerId: message } })) };
    },
    async cancelAnswer({ messageId, preventAcceptance }: (typeof cancelled)[number]) {
      cancelled.push({ messageId, preventAcceptance });
    },
  };
  const sendMessage = createMessageSender(agents as never, { warn: () => undefined } as never);
  const send = (message: string, { call, ...more }: Partial<OutgoingMessage> = {}) =>
    sendMessage({
      item: { message, answerId: message, contextJson: '', principal: caller('m') } as unknown as OutgoingMessage['item'],
      call: { requestId: 'req-1', principal: caller('m'), expiresAt: Number.POSITIVE_INFINITY, ...call },
      disconnected: new AbortController().signal,
      expiresAt: performance.now() + 10_000,
      ...more,
    });
  return { batches, cancelled, send, release: released.resolve, fail: () => released.reject(new ServiceError('unavailable')) };
}

const messagesOf = (batches: readonly SentBatch[]) => batches.flatMap(({ items }) => items.map(({ message }) => message));

test('a message whose caller has left, or whose time is over, is not sent, and the others of its batch get their own answers', async () => {
  const { batches, cancelled, send, release } = createTestSender();
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
  expect(cancelled).toEqual([]);
});

test('a batch is cancelled when all of its callers have left, and not before', async () => {
  const { batches, send, release } = createTestSender();
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

const idempotency = { scope: 'one', fingerprint: 'same' };

test.each([
  ['accepted', {}, [{ messageId: 'left', preventAcceptance: false }]],
  ['perhaps accepted', {}, [{ messageId: 'left', preventAcceptance: true }]],
  ['accepted', { call: { idempotency } as never }, []],
  ['perhaps accepted', { call: { idempotency } as never }, []],
] as const)('the answer of a caller that left is cancelled where the message was %s, with %j', async (result, more, expected) => {
  const { batches, cancelled, send, release, fail } = createTestSender();
  const caller = new AbortController();
  const answers = Promise.allSettled([send('left', { ...more, disconnected: caller.signal }), send('waits')]);
  while (messagesOf(batches).length < 2) await turn();
  caller.abort();
  if (result === 'accepted') release();
  else fail();
  const [left] = await answers;
  expect(left.status).toBe(result === 'accepted' ? 'fulfilled' : 'rejected');
  expect(cancelled).toEqual(expected);
});
