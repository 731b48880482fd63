import { expect, test } from '@jest/globals';
import { keyRetentionMs } from '../shared/answer.ts';
import { admit } from './admission.ts';
import type { Situation } from './store/accept.ts';

const now = 1_000_000_000;
const limits = { waiting: 3 };
const admissible: Situation = {
  continues: false,
  agentStatus: 'active',
  conversationFound: false,
  conversationBusy: false,
  waiting: 0,
  accepted: 'no',
  key: undefined,
  fingerprint: 'a',
  tier: 'Fast',
  hasLine: true,
};
const key = { fingerprint: 'a', answerId: 'msg_1', createdAt: now - 1 };
const outcome = (more: Partial<Situation>) => admit({ ...admissible, ...more }, limits, now);

test('a message is refused with the code of the first obstacle, and admitted without one', () => {
  expect(outcome({})).toEqual({ kind: 'admit' });
  expect(outcome({ agentStatus: null })).toEqual({ kind: 'refuse', code: 'not_found', param: 'agent_id' });
  expect(outcome({ agentStatus: 'draft' })).toEqual({ kind: 'refuse', code: 'agent_not_active' });
  expect(outcome({ continues: true })).toEqual({ kind: 'refuse', code: 'not_found', param: 'conversation_id' });
  expect(outcome({ continues: true, conversationFound: true })).toEqual({ kind: 'admit' });
  expect(outcome({ continues: true, conversationFound: true, conversationBusy: true })).toEqual({
    kind: 'refuse',
    code: 'conversation_busy',
  });
  expect(outcome({ waiting: 2 })).toEqual({ kind: 'admit' });
  expect(outcome({ waiting: 3 })).toEqual({ kind: 'refuse', code: 'too_many_waiting' });
});

test('a message that was accepted stays accepted, even if limits or states have changed since', () => {
  expect(outcome({ accepted: 'forThisCaller', agentStatus: null, key: { ...key, fingerprint: 'b' } })).toEqual({ kind: 'repeat' });
  expect(outcome({ accepted: 'forAnotherCaller' })).toEqual({ kind: 'refuse', code: 'not_found' });
});

test('an Idempotency-Key names its answer for a day, for the same body, while the agent is there', () => {
  expect(outcome({ key, agentStatus: 'inactive', conversationBusy: true })).toEqual({ kind: 'attach', answerId: 'msg_1' });
  expect(outcome({ key, fingerprint: 'b' })).toEqual({ kind: 'refuse', code: 'idempotency_key_reused' });
  expect(outcome({ key, agentStatus: null })).toEqual({ kind: 'refuse', code: 'not_found', param: 'agent_id' });
  expect(outcome({ key: { ...key, createdAt: now - keyRetentionMs }, fingerprint: 'b' })).toEqual({ kind: 'admit' });
});
