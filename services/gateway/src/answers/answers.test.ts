import { setTimeout as pause } from 'node:timers/promises';
import { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import { expect, test } from '@jest/globals';
import { answerMessage } from '../../test/support/agents-peer.ts';
import { caller } from '../../test/support/gateway.ts';
import { createAnswers } from './answers.ts';
import { type AnswerKey, WaiterRegistry } from './waiters.ts';

const newMessage = { agentId: 'agt_1', conversationId: '', message: 'How much?', contextJson: '' };

/** Answers of a process whose clock stands still, so that no round of reading back ever comes. */
function answersWithoutTime({ attached }: { attached: boolean }) {
  const reads: AnswerKey[] = [];
  const read = async (key: AnswerKey) => {
    reads.push(key);
    return { message: answerMessage(key.answerId) };
  };
  const now = () => 0;
  const waits = new WaiterRegistry({ now, read, lastGapAt: () => 0 });
  const started = { answerId: 'msg_first', conversationId: 'conv_1', attached, model: 'Fast', createdAt: '', deadlineMs: '0' };
  const answers = createAnswers({
    send: async () => started,
    read,
    readRecord: async () => null,
    waits,
    bufferedBytes: new BufferedBytes(),
    replyChannel: 'replies',
    waitMs: 1_000,
    now,
    timeOfDay: now,
  });
  const call = { requestId: 'req-1', principal: caller('m'), expiresAt: Number.POSITIVE_INFINITY };
  return { answers, waits, reads, call };
}

test('a repeat under an Idempotency-Key reads the first answer at once, since its reply may have been sent before', async () => {
  const { answers, reads, call } = answersWithoutTime({ attached: true });
  const message = await answers.wait(newMessage, call, new AbortController().signal);
  expect(message.id).toBe('msg_first');
  expect(reads).toEqual([{ organizationId: 'org_m', environment: 'live', answerId: 'msg_first' }]);
});

test('a new message reads nothing before a second has passed', async () => {
  const { answers, waits, reads, call } = answersWithoutTime({ attached: false });
  const answer = answers.wait(newMessage, call, new AbortController().signal);
  await pause(0);
  waits.tick();
  expect(reads).toEqual([]);
  waits.deliver([{ kind: 'ended', id: 'msg_first', message: answerMessage('msg_first') }]);
  expect((await answer).id).toBe('msg_first');
});
