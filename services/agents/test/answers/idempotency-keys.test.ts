import { countLockWaits, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { removeExpiredKeys } from '../../src/answers/store/accept.ts';
import { processDue } from '../../src/answers/sweeps.ts';
import { keyRetentionMs, timeOf } from '../../src/shared/answer.ts';
import { type Composition, compose, environment, newMessage, organizationId, untilValue } from './support/compose.ts';

let rig: Composition;
beforeAll(async () => {
  rig = await compose();
});
afterAll(() => rig?.stop());

const key = (id: string) => ({ organizationId, environment, id }) as const;
const begin = (id: string) => rig.answers.begin({ ...key(id), claim: 'claim-1', workerChannel: 'worker:1' });

async function start(more: Parameters<typeof newMessage>[1] = {}): Promise<string> {
  const message = newMessage((rig.clock.now += 1), more);
  expect(await rig.answers.accept(message)).toHaveProperty('started');
  return message.id;
}

/** Runs the answer in its first attempt, until it has ended. */
async function answer(id: string): Promise<void> {
  await begin(id);
  const text = { content: 'Three.', contentType: 'text' as const, inputTokens: 1, outputTokens: 1 };
  await rig.answers.complete({ ...key(id), attempt: 1, ...text, queries: [], record: null, refused: false });
  const isEnded = () => rig.replies.some(({ reply }) => reply.kind === 'ended' && reply.id === id);
  await untilValue(isEnded, (isOver) => isOver);
}

test('an Idempotency-Key names one answer: repeats attach, other bodies are refused, a failure frees it', async () => {
  const keyed = { idempotencyScope: 'scope', idempotencyFingerprint: 'a' };
  const repeat = (more = {}) => rig.answers.accept(newMessage(rig.clock.now, { ...keyed, replyChannel: 'replies:2', ...more }));
  const both = await Promise.all([repeat(), repeat()]);
  const [accepted, attached] = both.map((outcome) => ('started' in outcome ? outcome.started : undefined));
  expect([accepted?.attached, attached?.attached, attached?.answerId]).toEqual([false, true, accepted?.answerId]);
  const id = accepted?.answerId as string;
  expect(await repeat({ idempotencyFingerprint: 'b' })).toEqual({ refusal: { code: 'idempotency_key_reused' } });
  expect(await repeat({ replyChannel: 'replies:3' })).toMatchObject({ started: { answerId: id, attached: true } });
  await answer(id);
  expect(rig.replies.filter(({ reply }) => reply.kind === 'ended' && reply.id === id).map(({ channel }) => channel)).toEqual([
    'replies:2',
    'replies:3',
  ]);
  expect(await repeat()).toMatchObject({ started: { answerId: id, attached: true } });
  // One hold only: attached messages hold nothing.
  expect([...rig.ledger.holds.values()].filter(({ state }) => state === 'open')).toHaveLength(0);

  const other = await start({ idempotencyScope: 'other', idempotencyFingerprint: 'a' });
  await begin(other);
  await rig.answers.fail([{ ...key(other), attempt: 1, failure: null }]);
  expect(await start({ idempotencyScope: 'other', idempotencyFingerprint: 'b' })).not.toBe(other);

  rig.clock.now += keyRetentionMs;
  expect(await repeat({ idempotencyFingerprint: 'c' })).toMatchObject({ started: { attached: false } });
  await removeExpiredKeys(rig.sql, rig.clock.now);
  expect(await repeat({ idempotencyFingerprint: 'c' })).toMatchObject({ started: { attached: true } });
  rig.clock.now += keyRetentionMs + 1;
  expect(await removeExpiredKeys(rig.sql, rig.clock.now)).toBeGreaterThan(0);
});

/** Claims a change of business data in the name of the answer's first attempt. */
const claimChange = (id: string, finishedAt: number | null) =>
  rig.sql(
    `insert into answer_steps (organization_id, environment, answer_id, step, attempt, description, claimed_at, finished_at, rows)
     values ($1, $2, $3, 1, 1, 'insert into orders (1 row)', $4, $5, 1)`,
    [organizationId, environment, id, new Date(rig.clock.now), finishedAt === null ? null : new Date(finishedAt)],
  );

test('an answer that was cancelled, or that failed after a change of business data, keeps its Idempotency-Key', async () => {
  const [cancelled, changed] = ['of a cancelled', 'of a changing'].map((scope) => ({
    idempotencyScope: scope,
    idempotencyFingerprint: 'a',
  }));
  const first = await start(cancelled);
  await rig.cancel(key(first));
  const second = await start(changed);
  await begin(second);
  await claimChange(second, rig.clock.now);
  await rig.answers.fail([{ ...key(second), attempt: 1, failure: { code: 'provider_error', message: 'It said no.' } }]);
  for (const [keyed, id] of [
    [cancelled, first],
    [changed, second],
  ] as const)
    expect(await rig.answers.accept(newMessage(rig.clock.now, { ...keyed, replyChannel: 'replies:2' }))).toMatchObject({
      started: { answerId: id, attached: true },
    });
});

test.each([
  ['finished', 'answer_timeout', /Business data had been changed before, and stays changed/],
  ['unfinished', 'change_unfinished', /it may have been written/],
])('an answer whose end no worker reports says of a %s change', async (state, code, sentence) => {
  const [overdue, cancelled] = [await start(), await start()];
  for (const id of [overdue, cancelled]) {
    await begin(id);
    await claimChange(id, state === 'finished' ? rig.clock.now : null);
  }
  expect(await rig.cancel(key(cancelled))).toMatchObject({ status: 'cancelled', content: expect.stringMatching(sentence) });
  rig.clock.now += rig.deps.limits.deadlineMs + 60_000;
  await processDue(rig.deps);
  const [row] = await rig.answers.read([{ ...key(overdue), createdAt: timeOf(overdue) ?? 0 }]);
  expect(row).toMatchObject({ status: 'failed', failureCode: code, failureMessage: expect.stringMatching(sentence) });
  const announced = rig.replies.find(({ reply }) => reply.kind === 'ended' && reply.id === overdue);
  expect(announced?.reply).toMatchObject({ message: { failure: { code, message: expect.stringContaining('No credits were charged.') } } });
});

test('an answer that ends at its deadline says of a change that is claimed while its end waits, and keeps its Idempotency-Key', async () => {
  const keyed = { idempotencyScope: 'waiting', idempotencyFingerprint: 'a' };
  const id = await start(keyed);
  await begin(id);
  rig.clock.now += rig.deps.limits.deadlineMs + 60_000;
  await withDatabase(rig.databaseUrl, async (session) => {
    await session.query('begin; set local search_path = agents');
    await session.query('select 1 from answer_lines where organization_id = $1 for update', [organizationId]);
    const processed = processDue(rig.deps);
    await untilValue(
      () => countLockWaits(rig.databaseUrl),
      (waits) => waits > 0,
    );
    await claimChange(id, null);
    await session.query('commit');
    await processed;
  });
  const [row] = await rig.answers.read([{ ...key(id), createdAt: timeOf(id) ?? 0 }]);
  expect(row).toMatchObject({ status: 'failed', failureCode: 'change_unfinished' });
  expect(await rig.answers.accept(newMessage(rig.clock.now, keyed))).toMatchObject({ started: { answerId: id, attached: true } });
});

test('an Idempotency-Key does not return the answer of a deleted conversation, before nor after its messages are removed', async () => {
  const keyed = { idempotencyScope: 'deleted', idempotencyFingerprint: 'a' };
  const id = await start(keyed);
  await answer(id);
  const repeat = () => rig.answers.accept(newMessage(rig.clock.now, { ...keyed, replyChannel: 'replies:2' }));
  expect(await repeat()).toMatchObject({ started: { answerId: id, attached: true } });
  await rig.sql('update conversations set deleted_at = now() where id = (select conversation_id from messages where id = $1)', [id]);
  const refusal = { code: 'not_found', param: 'conversation_id' };
  expect(await repeat()).toEqual({ refusal });
  await rig.sql('delete from messages where id = $1', [id]);
  expect(await repeat()).toEqual({ refusal });
});

test('a key that is used again is removed alone, with any number of other expired keys', async () => {
  const keyed = { idempotencyScope: 'again', idempotencyFingerprint: 'a' };
  const accept = (more: Parameters<typeof newMessage>[1]) => rig.answers.accept(newMessage((rig.clock.now += 1), more));
  await answer(await start(keyed));
  await rig.sql(`insert into answer_keys select 'org_other', 'live', 'old' || n, '', '', to_timestamp(0) from generate_series(1, 2500) n`);
  rig.clock.now += keyRetentionMs;
  const present = { idempotencyScope: 'present', idempotencyFingerprint: 'p' };
  const answerId = await start(present);
  expect(await accept({ ...keyed, idempotencyFingerprint: 'b' })).toMatchObject({ started: { attached: false } });
  expect(await accept(present)).toMatchObject({ started: { answerId, attached: true } });
  const left = await rig.sql<{ left: number }>(`select count(*)::integer as left from answer_keys where organization_id = 'org_other'`);
  expect(left).toEqual([{ left: 2500 }]);
  while ((await removeExpiredKeys(rig.sql, rig.clock.now)) > 0);
});
