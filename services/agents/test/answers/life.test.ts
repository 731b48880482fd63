import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { charge } from './support/ledger.ts';
import { addAgent, agentId, environment, organizationId, question, until, type Wired, wired } from './support/wired.ts';

let rig: Wired;
beforeAll(async () => {
  rig = await wired({ events: true });
}, 30_000);
afterAll(() => rig.stop());

const key = (id: string) => ({ organizationId, environment, id }) as const;

async function started(more: Parameters<typeof question>[1] = {}) {
  const asked = question(rig.clock.now, more);
  const outcome = await rig.answers.accept(asked);
  if (!('started' in outcome)) throw new Error(`refused: ${outcome.refusal.code}`);
  return { asked, started: outcome.started };
}

async function begun(id: string, claim = `claim-${id}`) {
  const outcome = await rig.answers.begin({ ...key(id), claim, apart: false, workerChannel: 'worker:1' });
  if (!('begun' in outcome)) throw new Error(`refused: ${outcome.refusal.code}`);
  return outcome;
}

const result = (id: string, attempt: number, content = 'There are 3.', contentType: 'markdown' | 'text' = 'markdown') => ({
  ...key(id),
  attempt,
  content,
  contentType,
  inputTokens: 10,
  outputTokens: 5,
  queries: [{ statement: 'select count(*) from orders', tables: ['orders'], rows: 1, durationMs: 3 }],
});

const line = async () => (await rig.sql<{ waiting: number; in_flight: number }>('select waiting, in_flight from answer_lines'))[0];
const endedOf = (id: string) => rig.replies.filter(({ reply }) => reply.kind === 'ended' && reply.id === id);

test('a message is accepted, begun, completed and paid for, and whoever waits is told once', async () => {
  const { asked, started: accepted } = await started();
  expect(accepted).toMatchObject({ answerId: asked.id, tier: 'Fast', attached: false, createdAt: asked.acceptedAt });
  expect(rig.jobs.filter(({ answerId }) => answerId === asked.id)).toEqual([
    { organizationId, environment, answerId: asked.id, dispatch: 1 },
  ]);
  expect(await line()).toEqual({ waiting: 0, in_flight: 1 });

  const { begun: row, history } = await begun(asked.id);
  expect(row).toMatchObject({
    attempt: 1,
    message: asked.text,
    systemPrompt: 'Be brief.',
    tables: ['orders'],
    replyChannels: ['replies:1'],
  });
  expect(history).toEqual([]);
  expect(await rig.answers.complete(result(asked.id, 1))).toBeUndefined();

  const [ended] = await until(
    () => endedOf(asked.id),
    (seen) => seen.length > 0,
  );
  expect(ended?.reply).toMatchObject({
    message: { status: 'completed', content: 'There are 3.', creditsConsumed: charge, modelUsed: 'Fast' },
  });
  expect(await line()).toEqual({ waiting: 0, in_flight: 0 });
  expect(await rig.sql('select 1 from answers')).toEqual([]);
  expect(rig.ledger.holds.get(asked.id)).toMatchObject({ state: 'settled', ended: 1 });
  const [conversation] = await rig.sql<object>('select message_count, total_credits from conversations where id = $1', [
    accepted.conversationId,
  ]);
  expect(conversation).toEqual({ message_count: 2, total_credits: String(charge) });
  const [event] = await rig.sql<{ payload: unknown }>("select payload from outbox where topic = 'events'");
  expect(event?.payload).toMatchObject({ type: 'conversation.completed', data: { message_id: asked.id, credits_consumed: charge } });

  // The same result again is taken, an older attempt's is not, and nothing more happens.
  expect(await rig.answers.complete(result(asked.id, 1))).toBeUndefined();
  expect(await rig.answers.complete(result(asked.id, 0))).toEqual({ code: 'attempt_superseded' });
  expect(endedOf(asked.id)).toHaveLength(1);
});

test('an answer is told, and read ever after, as it was written', async () => {
  for (const contentType of ['text', 'markdown'] as const) {
    const { asked } = await started();
    await begun(asked.id);
    await rig.answers.complete(result(asked.id, 1, '2 * 3 * 4', contentType));
    const [ended] = await until(
      () => endedOf(asked.id),
      (seen) => seen.length > 0,
    );
    expect(ended?.reply).toMatchObject({ message: { content: '2 * 3 * 4', contentType } });
    const [read] = await rig.answers.read([{ ...key(asked.id), createdAt: asked.acceptedAt }]);
    expect(read).toMatchObject({ status: 'completed', contentType });
  }
});

test('the next message of a conversation carries what was said before, and waits its turn', async () => {
  const first = await started();
  const { conversationId } = first.started;
  const busy = await rig.answers.accept(question(rig.clock.now, { conversationId }));
  expect(busy).toEqual({ refusal: { code: 'conversation_busy' } });
  await begun(first.asked.id);
  await rig.answers.complete(result(first.asked.id, 1, 'Three.'));
  await until(
    () => endedOf(first.asked.id),
    (seen) => seen.length > 0,
  );

  const next = await started({ conversationId, text: 'And paid ones?' });
  const { history } = await begun(next.asked.id);
  expect(history).toEqual([
    { role: 'user', content: 'How many orders?' },
    { role: 'assistant', content: 'Three.' },
  ]);
  await rig.answers.fail([{ ...key(next.asked.id), attempt: 1, failure: { code: 'provider_error', message: '' } }]);
  expect(endedOf(next.asked.id)[0]?.reply).toMatchObject({
    message: { status: 'failed', creditsConsumed: 0, failure: { code: 'provider_error' } },
  });
  await until(
    () => rig.ledger.holds.get(next.asked.id)?.state,
    (state) => state === 'released',
  );
  await until(
    () => rig.sql('select 1 from answers'),
    (rows) => rows.length === 0,
  );
});

test('a history leaves out what failed or was cancelled, and keeps the last exchange however long it was', async () => {
  const ask = async (text: string, conversationId: string, end: (id: string) => Promise<unknown>) => {
    rig.clock.now += 10;
    const { asked, started: accepted } = await started({ text, conversationId });
    const { history } = await begun(asked.id);
    await end(asked.id);
    await until(
      () => endedOf(asked.id),
      (seen) => seen.length > 0,
    );
    return { history, conversationId: accepted.conversationId };
  };
  const answer = (content: string) => (id: string) => rig.answers.complete(result(id, 1, content));
  const { conversationId } = await ask('first', '', answer('one'));
  await ask('failing', conversationId, (id) => rig.answers.fail([{ ...key(id), attempt: 1, failure: null }]));
  await ask('unwanted', conversationId, (id) => rig.cancel(key(id)));
  const long = '😀'.repeat(200_000);
  const { history } = await ask('long', conversationId, answer(long));
  expect(history).toEqual([
    { role: 'user', content: 'first' },
    { role: 'assistant', content: 'one' },
  ]);
  const next = await ask('next', conversationId, answer('three'));
  const [asked, answered] = next.history;
  expect([next.history.length, asked?.content, answered?.role]).toEqual([2, 'long', 'assistant']);
  expect(answered?.content).toMatch(/^(😀)+…$/u);
  const bytes = Buffer.byteLength(answered?.content ?? '');
  expect(bytes).toBeLessThanOrEqual(512 * 1024);
  expect(bytes).toBeGreaterThan(512 * 1024 - 20);
  const last = await ask('last', conversationId, answer('four'));
  expect(last.history.map(({ content }) => content)).toEqual(['next', 'three']);
});

test('what can not be answered is refused before anything is held', async () => {
  await addAgent(rig.sql, 'agt_draft', 'draft');
  const before = rig.ledger.holds.size;
  const refusal = async (more: Parameters<typeof question>[1]) => rig.answers.accept(question(rig.clock.now, more));
  expect(await refusal({ agentId: 'agt_none' })).toEqual({ refusal: { code: 'not_found' } });
  expect(await refusal({ agentId: 'agt_draft' })).toEqual({ refusal: { code: 'agent_not_active' } });
  expect(await refusal({ conversationId: 'conv_none' })).toEqual({ refusal: { code: 'not_found' } });
  expect(await refusal({ organizationId: 'org_2' })).toEqual({ refusal: { code: 'not_found' } });
  expect(rig.ledger.holds.size).toBe(before);
  rig.ledger.refuse = 'credits_exhausted';
  expect(await refusal({})).toEqual({ refusal: { code: 'credits_exhausted', required: '4', available: '1' } });
  rig.ledger.refuse = undefined;
});

test('the same id again is the same message, alone and at once', async () => {
  const asked = question(rig.clock.now);
  const outcomes = await Promise.all([1, 2, 3].map(() => rig.answers.accept(asked)));
  expect(new Set(outcomes.map((outcome) => ('started' in outcome ? outcome.started.conversationId : outcome.refusal.code))).size).toBe(1);
  expect(await rig.sql('select 1 from answers where id = $1', [asked.id])).toHaveLength(1);
  await begun(asked.id);
  await rig.answers.complete(result(asked.id, 1));
  await until(
    () => endedOf(asked.id),
    (seen) => seen.length > 0,
  );
  expect(await rig.answers.accept(asked)).toEqual(outcomes[0]);
  expect(rig.ledger.holds.get(asked.id)).toMatchObject({ ended: 1, state: 'settled' });
  expect(agentId).toBe('agt_1');
});

test('a message whose caller left before it was accepted is not accepted, and its hold is given back', async () => {
  const asked = question(rig.clock.now, { isCallerGone: () => true });
  expect(await rig.answers.accept(asked)).toEqual({ refusal: { code: 'unavailable' } });
  await until(
    () => rig.ledger.holds.get(asked.id)?.state,
    (state) => state === 'released',
  );
  expect(await rig.sql('select 1 from messages where id = $1', [asked.id])).toEqual([]);
});

test('a hold is released at once when its agent is deactivated before the failed batch of its message runs again', async () => {
  rig.clock.now += 1;
  const [first, second] = [question(rig.clock.now, { idempotencyScope: 'taken' }), question(rig.clock.now)];
  rig.ledger.onHold = async () => {
    rig.ledger.onHold = undefined;
    // The first message's key is taken after it was looked up, so that the statement that accepts both fails.
    await rig.sql(`insert into answer_keys values ($1, $2, 'taken', 'other', 'msg_other', now())`, [organizationId, environment]);
    await rig.sql(`update agents set status = 'inactive' where id = $1`, [agentId]);
  };
  const outcomes = await Promise.all([first, second].map((asked) => rig.answers.accept(asked)));
  await rig.sql(`update agents set status = 'active' where id = $1`, [agentId]);
  await rig.sql('delete from answer_keys');
  expect(outcomes).toEqual([{ refusal: { code: 'idempotency_key_reused' } }, { refusal: { code: 'agent_not_active' } }]);
  await until(
    () => [first, second].map(({ id }) => rig.ledger.holds.get(id)?.state),
    (states) => states.every((state) => state === 'released'),
  );
});
