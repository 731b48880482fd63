import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Acceptance } from '../../src/answers/accept.ts';
import { WaitingWorkers } from '../../src/answers/dispatch.ts';
import { retryReleases, retrySettlements } from '../../src/answers/sweeps.ts';
import { takeOverMs } from '../../src/shared/answer.ts';
import { addAgent, agentId, type Composition, compose, environment, newMessage, organizationId, untilValue } from './support/compose.ts';
import { charge } from './support/ledger.ts';

let rig: Composition;
beforeAll(async () => {
  rig = await compose({ events: true });
});
afterAll(() => rig.stop());

const key = (id: string) => ({ organizationId, environment, id }) as const;

async function acceptOne(more: Parameters<typeof newMessage>[1] = {}) {
  const message = newMessage(rig.clock.now, more);
  const outcome = await rig.answers.accept(message);
  if (!('started' in outcome)) throw new Error(`refused: ${outcome.refusal.code}`);
  return { message, started: outcome.started };
}

async function begin(id: string, claim = `claim-${id}`) {
  const outcome = await rig.answers.begin({ ...key(id), claim, workerChannel: 'worker:1' });
  if (!('input' in outcome)) throw new Error(`refused: ${outcome.refusal.code}`);
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
  record: null,
  refused: false,
});

const line = async () => (await rig.sql<{ waiting: number; in_flight: number }>('select waiting, in_flight from answer_lines'))[0];
const endedOf = (id: string) => rig.replies.filter(({ reply }) => reply.kind === 'ended' && reply.id === id);

test('a message is accepted, begun, completed and charged, and the waiting gateway is told once', async () => {
  const settle = jest.spyOn(rig.ledger.client, 'settle');
  const { message, started: accepted } = await acceptOne({ text: 'How many orders? '.repeat(10) });
  expect(accepted).toMatchObject({ answerId: message.id, tier: 'Fast', attached: false, createdAt: message.acceptedAt });
  expect(rig.jobs.filter(({ answerId }) => answerId === message.id)).toEqual([
    { organizationId, environment, answerId: message.id, dispatch: 1 },
  ]);
  expect(await line()).toEqual({ waiting: 0, in_flight: 1 });

  const { input: row, history } = await begin(message.id);
  expect(row).toMatchObject({
    attempt: 1,
    message: message.text,
    systemPrompt: 'Be brief.',
    tables: ['orders'],
    replyChannels: ['replies:1'],
  });
  expect(history).toEqual([]);
  expect(await rig.answers.complete(result(message.id, 1))).toBeUndefined();

  const [ended] = await untilValue(
    () => endedOf(message.id),
    (ended) => ended.length > 0,
  );
  expect(ended?.reply).toMatchObject({
    message: { status: 'completed', content: 'There are 3.', creditsConsumed: charge, modelUsed: 'Fast' },
  });
  expect(await line()).toEqual({ waiting: 0, in_flight: 0 });
  expect(await rig.sql('select 1 from answers')).toEqual([]);
  expect(rig.ledger.holds.get(message.id)).toMatchObject({ state: 'settled', ended: 1 });
  const usage = { agentId, agentName: 'Sales', conversationId: accepted.conversationId, tier: 'Fast', inputTokens: 10, outputTokens: 5 };
  const summary = message.text.slice(0, 120);
  expect(settle.mock.calls.flatMap(([{ items }]) => items)).toEqual([
    { tenant: { organizationId, environment }, holdId: message.id, ...usage, querySummary: summary },
  ]);
  settle.mockRestore();
  const [conversation] = await rig.sql<object>('select message_count, total_credits from conversations where id = $1', [
    accepted.conversationId,
  ]);
  expect(conversation).toEqual({ message_count: 2, total_credits: String(charge) });
  const [event] = await rig.sql<{ payload: unknown }>("select payload from outbox where topic = 'events'");
  expect(event?.payload).toMatchObject({ type: 'conversation.completed', data: { message_id: message.id, credits_consumed: charge } });

  // The same result is accepted again without effect, that of an older attempt is refused.
  expect(await rig.answers.complete(result(message.id, 1))).toBeUndefined();
  expect(await rig.answers.complete(result(message.id, 0))).toEqual({ code: 'attempt_superseded' });
  expect(endedOf(message.id)).toHaveLength(1);
});

test('an answer that the built-in model has refused completes without a charge, also when a sweep settles it', async () => {
  for (const mood of ['well', 'away'] as const) {
    const { message } = await acceptOne();
    await begin(message.id);
    rig.ledger.mood = mood;
    await rig.answers.complete({ ...result(message.id, 1), refused: true });
    if (mood === 'away') {
      rig.ledger.mood = 'well';
      rig.clock.now += takeOverMs + 1;
      await retrySettlements(rig.deps);
    }
    const [ended] = await untilValue(
      () => endedOf(message.id),
      (ended) => ended.length > 0,
    );
    expect(ended?.reply).toMatchObject({ message: { status: 'completed', creditsConsumed: 0 } });
    expect(rig.ledger.holds.get(message.id)).toMatchObject({ state: 'settled', charged: 0 });
  }
});

test('an answer is announced and read with the content type of its result', async () => {
  for (const contentType of ['text', 'markdown'] as const) {
    const { message } = await acceptOne();
    await begin(message.id);
    await rig.answers.complete(result(message.id, 1, '2 * 3 * 4', contentType));
    const [ended] = await untilValue(
      () => endedOf(message.id),
      (ended) => ended.length > 0,
    );
    expect(ended?.reply).toMatchObject({ message: { content: '2 * 3 * 4', contentType } });
    const [read] = await rig.answers.read([{ ...key(message.id), createdAt: message.acceptedAt }]);
    expect(read).toMatchObject({ status: 'completed', contentType });
  }
});

test('the next message of a conversation has the history, and is refused while the previous answer is pending', async () => {
  const first = await acceptOne();
  const { conversationId } = first.started;
  const busy = await rig.answers.accept(newMessage(rig.clock.now, { conversationId }));
  expect(busy).toEqual({ refusal: { code: 'conversation_busy' } });
  await begin(first.message.id);
  await rig.answers.complete(result(first.message.id, 1, 'Three.'));
  await untilValue(
    () => endedOf(first.message.id),
    (ended) => ended.length > 0,
  );

  const next = await acceptOne({ conversationId, text: 'And paid ones?' });
  const { history } = await begin(next.message.id);
  expect(history).toEqual([
    { role: 'user', content: 'How many orders?' },
    { role: 'assistant', content: 'Three.' },
  ]);
  const queries = [{ statement: 'select 1', tables: ['orders'], rows: 1, durationMs: 3 }];
  const step = { name: 'query', detail: '', rows: 1, durationMs: 3, error: '', query: 1 };
  const done = { queries, record: { usage: null, resultJson: '', steps: [step] } };
  await rig.answers.fail([{ ...key(next.message.id), attempt: 1, failure: { code: 'provider_error', message: 'No\0\ud800' }, done }]);
  expect(endedOf(next.message.id)[0]?.reply).toMatchObject({
    message: {
      status: 'failed',
      creditsConsumed: 0,
      failure: { code: 'provider_error', message: 'No\ufffd\ufffd No credits were charged.' },
    },
  });
  // The steps before the failure are kept.
  const stored = await rig.sql(`select queries, record from messages where id = '${next.message.id}' and role = 'assistant'`);
  expect(stored).toEqual([done]);
  await untilValue(
    () => rig.ledger.holds.get(next.message.id)?.state,
    (state) => state === 'released',
  );
  await untilValue(
    () => rig.sql('select 1 from answers'),
    (rows) => rows.length === 0,
  );
});

test('a history leaves out failed and cancelled exchanges, and keeps the last one however long it is', async () => {
  const ask = async (text: string, conversationId: string, end: (id: string) => Promise<unknown>) => {
    rig.clock.now += 10;
    const { message, started: accepted } = await acceptOne({ text, conversationId });
    const { history } = await begin(message.id);
    await end(message.id);
    await untilValue(
      () => endedOf(message.id),
      (ended) => ended.length > 0,
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
  const [message, answered] = next.history;
  expect([next.history.length, message?.content, answered?.role]).toEqual([2, 'long', 'assistant']);
  expect(answered?.content).toMatch(/^(😀)+…$/u);
  const bytes = Buffer.byteLength(answered?.content ?? '');
  expect(bytes).toBeLessThanOrEqual(512 * 1024);
  expect(bytes).toBeGreaterThan(512 * 1024 - 20);
  const last = await ask('last', conversationId, answer('four'));
  expect(last.history.map(({ content }) => content)).toEqual(['next', 'three']);
});

test('a message that cannot be answered is refused before credits are held', async () => {
  await addAgent(rig.sql, 'agt_draft', 'draft');
  const before = rig.ledger.holds.size;
  const refusal = async (more: Parameters<typeof newMessage>[1]) => rig.answers.accept(newMessage(rig.clock.now, more));
  expect(await refusal({ agentId: 'agt_none' })).toEqual({ refusal: { code: 'not_found', param: 'agent_id' } });
  expect(await refusal({ agentId: 'agt_draft' })).toEqual({ refusal: { code: 'agent_not_active' } });
  expect(await refusal({ conversationId: 'conv_none' })).toEqual({ refusal: { code: 'not_found', param: 'conversation_id' } });
  expect(await refusal({ organizationId: 'org_2' })).toEqual({ refusal: { code: 'not_found', param: 'agent_id' } });
  expect(rig.ledger.holds.size).toBe(before);
  rig.ledger.refuse = 'credits_exhausted';
  expect(await refusal({})).toEqual({ refusal: { code: 'credits_exhausted', required: '4', available: '1' } });
  rig.ledger.refuse = undefined;
});

test('an answer and its conversation belong to one user with one agent: no other continues, repeats or cancels it', async () => {
  await addAgent(rig.sql, 'agt_other');
  const { message, started: accepted } = await acceptOne();
  const { conversationId } = accepted;
  const owner = { agentId, userId: 'usr_1' };
  const strangers = [
    { ...owner, userId: 'usr_2' },
    { ...owner, agentId: 'agt_other' },
  ];
  const notFound = { refusal: { code: 'not_found', param: 'conversation_id' } };
  for (const stranger of strangers) {
    expect(await rig.answers.accept(newMessage(rig.clock.now, { conversationId, ...stranger }))).toEqual(notFound);
    expect(await rig.answers.accept({ ...message, ...stranger })).toEqual({ refusal: { code: 'not_found' } });
    expect(await rig.cancel(key(message.id), stranger)).toBeUndefined();
  }
  expect(endedOf(message.id)).toEqual([]);
  expect(await rig.cancel(key(message.id), owner)).toMatchObject({ status: 'cancelled' });
  await rig.sql('update conversations set deleted_at = now() where id = $1', [conversationId]);
  expect(await rig.answers.accept(newMessage(rig.clock.now, { conversationId }))).toEqual(notFound);
});

test('a request that repeats one which is being accepted joins it, although the credits suffice for one only', async () => {
  const request = { idempotencyScope: 'at-once', idempotencyFingerprint: 'same' };
  const first = newMessage(rig.clock.now, request);
  const workers = new WaitingWorkers(rig.deps.process, { takeBack: () => undefined });
  const replica = new Acceptance(rig.deps, rig.deps.releases, workers);
  // The first request is accepted by another replica while the ledger is asked for the second.
  rig.ledger.onHold = async () => {
    rig.ledger.onHold = undefined;
    await replica.accept(first);
    rig.ledger.refuse = 'credits_exhausted';
  };
  const outcome = await rig.answers.accept(newMessage(rig.clock.now, request));
  rig.ledger.refuse = undefined;
  expect(outcome).toMatchObject({ started: { answerId: first.id, attached: true } });
});

test('a repeat that streams an answer which its first caller waits for makes the answer a stream', async () => {
  const request = { idempotencyScope: 'stream', idempotencyFingerprint: 'same' };
  const { message } = await acceptOne(request);
  expect(await rig.answers.accept(newMessage(rig.clock.now, { ...request, stream: true }))).toMatchObject({ started: { attached: true } });
  expect((await begin(message.id)).input.stream).toBe(true);
  await rig.cancel(key(message.id));
});

test('the same id is the same message, one call after the other and in parallel', async () => {
  const message = newMessage(rig.clock.now);
  const outcomes = await Promise.all([1, 2, 3].map(() => rig.answers.accept(message)));
  expect(new Set(outcomes.map((outcome) => ('started' in outcome ? outcome.started.conversationId : outcome.refusal.code))).size).toBe(1);
  expect(await rig.sql('select 1 from answers where id = $1', [message.id])).toHaveLength(1);
  await begin(message.id);
  await rig.answers.complete(result(message.id, 1));
  await untilValue(
    () => endedOf(message.id),
    (ended) => ended.length > 0,
  );
  expect(await rig.answers.accept(message)).toEqual(outcomes[0]);
  expect(rig.ledger.holds.get(message.id)).toMatchObject({ ended: 1, state: 'settled' });
});

test.each([
  ['disconnects', { isCallerDisconnected: () => true }],
  ['gets a timeout', { callerExpiresAt: 0 }],
])('a message whose caller %s before its acceptance is not accepted, and its hold is released', async (_, caller) => {
  const message = newMessage(rig.clock.now, caller);
  expect(await rig.answers.accept(message)).toEqual({ refusal: { code: 'unavailable' } });
  await untilValue(
    () => rig.ledger.holds.get(message.id)?.state,
    (state) => state === 'released',
  );
  expect(await rig.sql('select 1 from messages where id = $1', [message.id])).toEqual([]);
});

test('a hold that the ledger does not decide to release is kept until it does; a settled one is done', async () => {
  for (const refusal of ['internal', 'hold_settled'] as const) {
    const { message } = await acceptOne();
    const hold = rig.ledger.holds.get(message.id);
    if (refusal === 'internal') rig.ledger.poison = message.id;
    else Object.assign(hold ?? {}, { state: 'settled' });
    const { release } = rig.ledger.calls;
    await rig.cancel(key(message.id));
    await untilValue(
      () => rig.ledger.calls.release,
      (calls) => calls > release,
    );
    if (refusal === 'internal') {
      rig.ledger.poison = undefined;
      rig.clock.now += takeOverMs + 1;
      await retryReleases(rig.deps);
    }
    await untilValue(
      () => rig.sql('select 1 from answers where id = $1', [message.id]),
      (rows) => rows.length === 0,
    );
    expect(hold?.state).toBe(refusal === 'internal' ? 'released' : 'settled');
  }
});

test('a hold is released at once when its agent is deactivated before the failed batch of its message runs again', async () => {
  rig.clock.now += 1;
  const [first, second] = [newMessage(rig.clock.now, { idempotencyScope: 'taken' }), newMessage(rig.clock.now)];
  rig.ledger.onHold = async () => {
    rig.ledger.onHold = undefined;
    // The first message's key is taken after it was looked up, so that the statement that accepts both fails.
    await rig.sql(`insert into answer_keys values ($1, $2, 'taken', 'other', 'msg_other', now())`, [organizationId, environment]);
    await rig.sql(`update agents set status = 'inactive' where id = $1`, [agentId]);
  };
  const outcomes = await Promise.all([first, second].map((message) => rig.answers.accept(message)));
  await rig.sql(`update agents set status = 'active' where id = $1`, [agentId]);
  await rig.sql('delete from answer_keys');
  expect(outcomes).toEqual([{ refusal: { code: 'idempotency_key_reused' } }, { refusal: { code: 'agent_not_active' } }]);
  await untilValue(
    () => [first, second].map(({ id }) => rig.ledger.holds.get(id)?.state),
    (states) => states.every((state) => state === 'released'),
  );
});

test('a hold or settlement that the ledger cannot decide leaves a line in the log, and the settlement is retried', async () => {
  const { logger } = rig.deps.process;
  const [warn, error] = [jest.spyOn(logger, 'warn'), jest.spyOn(logger, 'error')];
  const undecided = newMessage(rig.clock.now);
  const about = { answers: 1, organization_id: organizationId, code: 'internal' };
  try {
    rig.ledger.poison = undecided.id;
    expect(await rig.answers.accept(undecided)).toEqual({ refusal: { code: 'unavailable' } });
    expect(warn).toHaveBeenCalledWith({ event: 'hold_undecided', answer_id: undecided.id, ...about });
    const { message } = await acceptOne();
    await begin(message.id);
    rig.ledger.poison = message.id;
    await rig.answers.complete(result(message.id, 1));
    const line = { event: 'settle_undecided', answer_id: message.id, ...about };
    await untilValue(
      async () => error.mock.calls,
      (calls) => calls.some(([fields]) => (fields as { answer_id?: string }).answer_id === message.id),
    );
    expect(error).toHaveBeenCalledWith(line);
    rig.ledger.poison = undefined;
    rig.clock.now += takeOverMs;
    await retrySettlements(rig.deps);
    await untilValue(
      () => endedOf(message.id),
      (ended) => ended.length > 0,
    );
  } finally {
    rig.ledger.poison = undefined;
    warn.mockRestore();
    error.mockRestore();
  }
});

test('ended answers are counted by outcome and by the code of their failure', async () => {
  const counts = async () => {
    const text = await rig.deps.process.metrics.registry.getSingleMetricAsString('answers_ended_total');
    const countOf = (labels: string) => Number(new RegExp(`\\{${labels}[^}]*\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
    return [
      countOf('outcome="failed",failure="provider_error"'),
      countOf('outcome="failed",failure="internal"'),
      countOf('outcome="cancelled",failure=""'),
      countOf('outcome="completed",failure=""'),
    ];
  };
  const before = await counts();
  const ids = await Promise.all(Array.from({ length: 4 }, async () => (await acceptOne()).message.id));
  const [refused = '', unknown = '', cancelled = '', completed = ''] = ids;
  for (const id of ids) await begin(id);
  const failure = (code: string) => ({ code, message: 'No.' });
  await rig.answers.fail([
    { ...key(refused), attempt: 1, failure: failure('provider_error') },
    { ...key(unknown), attempt: 1, failure: failure('code_of_a_later_version') },
  ]);
  await rig.cancel(key(cancelled));
  await rig.answers.complete(result(completed, 1));
  await untilValue(
    () => endedOf(completed),
    (ended) => ended.length > 0,
  );
  expect((await counts()).map((count, n) => count - (before[n] ?? 0))).toEqual([1, 1, 1, 1]);
});
