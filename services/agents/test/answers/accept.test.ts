import { newId } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';
import { countLockWaits, until, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { acceptMessages } from '../../src/answers/store/accept.ts';
import { markConversationDeleted } from '../../src/conversations/store/conversations.ts';
import { agentId, type Composition, compose, environment, newMessage, organizationId } from './support/compose.ts';

let rig: Composition;
beforeAll(async () => {
  rig = await compose();
});
afterAll(() => rig?.stop());

/** Gives another tenant an agent of the same id. */
const addTenant = (tenant: { organization_id: string } | { environment: string }) =>
  rig.sql(
    `insert into agents select (jsonb_populate_record(agents, $1::jsonb)).* from agents where organization_id = $2 and environment = $3`,
    [JSON.stringify(tenant), organizationId, environment],
  );

const oneKey = { idempotencyScope: 'one', idempotencyFingerprint: 'same' };
const unavailable = { refusal: { code: 'unavailable' } };

/** Lets the hold of this answer wait until it is released. */
function blockHold(id: string) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: blocked, resolve: block } = Promise.withResolvers<void>();
  rig.ledger.onHold = async (holdIds) => {
    if (!holdIds.includes(id)) return;
    block();
    await released;
  };
  return {
    blocked,
    release() {
      rig.ledger.onHold = undefined;
      release();
    },
  };
}

test('a message to a full line is refused before credits are held, also before the next of the line is dispatched', async () => {
  await addTenant({ organization_id: 'org_full' });
  const { waiting } = rig.deps.limits;
  await rig.sql('insert into answer_lines (organization_id, environment, waiting, in_flight) values ($1, $2, $3, 0)', [
    'org_full',
    environment,
    waiting,
  ]);
  const message = newMessage(rig.clock.now, { organizationId: 'org_full' });
  expect(await rig.answers.accept(message)).toEqual({ refusal: { code: 'too_many_waiting' } });
  expect(rig.ledger.holds.has(message.id)).toBe(false);
});

test('messages of a tenant that conflict delay no message of another tenant in their batch', async () => {
  // Both environments of an organization share a shard.
  await addTenant({ environment: 'test' });
  const first = newMessage(rig.clock.now, { ...oneKey, isCallerDisconnected: () => true });
  const [second, third] = [newMessage(rig.clock.now, oneKey), newMessage(rig.clock.now, oneKey)];
  const hold = blockHold(second.id);
  const ended: string[] = [];
  const ofTenant = [first, second, third].map((message) => rig.answers.accept(message).finally(() => ended.push(message.id)));
  expect(await rig.answers.accept(newMessage(rig.clock.now, { environment: 'test' }))).toHaveProperty('started');
  await hold.blocked;
  expect(ended.filter((id) => id !== first.id)).toEqual([]);
  hold.release();
  expect(await Promise.all(ofTenant)).toMatchObject([
    unavailable,
    { started: { answerId: second.id, attached: false } },
    { started: { answerId: second.id, attached: true } },
  ]);
});

test('a message whose caller leaves while it waits for one that it conflicts with is not accepted, and those after it go on', async () => {
  const { started } = (await rig.answers.accept(newMessage(rig.clock.now))) as { started: { answerId: string; conversationId: string } };
  const { answerId, conversationId } = started;
  await rig.cancel({ organizationId, environment, id: answerId });
  let hasLeft = false;
  const [first, left, next] = [
    newMessage(rig.clock.now, { conversationId, isCallerDisconnected: () => hasLeft }),
    newMessage(rig.clock.now, { conversationId, isCallerDisconnected: () => hasLeft }),
    newMessage(rig.clock.now, { conversationId }),
  ];
  const hold = blockHold(first.id);
  const outcomes = [first, left, next].map((message) => rig.answers.accept(message));
  await hold.blocked;
  hasLeft = true;
  hold.release();
  expect(await Promise.all(outcomes)).toMatchObject([unavailable, unavailable, { started: { answerId: next.id } }]);
  expect(rig.ledger.holds.has(left.id)).toBe(false);
});

test('a hold that a replica with other prices has made is released where the message is refused', async () => {
  rig.ledger.refuse = 'idempotency_conflict';
  const message = newMessage(rig.clock.now);
  expect(await rig.answers.accept(message)).toEqual(unavailable);
  rig.ledger.refuse = undefined;
  await until('the hold is released', () => rig.ledger.holds.get(message.id)?.state === 'released');
});

test('a conversation is deleted while a batch continues it and begins a second one of the same user, and neither fails', async () => {
  const now = rig.clock.now;
  const { started } = (await rig.answers.accept(newMessage(now))) as { started: { answerId: string; conversationId: string } };
  const { answerId, conversationId } = started;
  await rig.cancel({ organizationId, environment, id: answerId });
  const messages = [newMessage(now, { conversationId }), newMessage(now)];
  const candidates = messages.map((message) => {
    const { id, conversationId: continued } = message;
    return {
      organizationId,
      environment,
      id,
      message,
      tier: 'Fast',
      deadline: now + 300_000,
      conversationId: continued || newId('conv'),
    } as const;
  });
  const accept = () =>
    acceptMessages(rig.sql, candidates, rig.deps.limits, now).then(
      ({ length }) => length,
      ({ cause }) => cause,
    );
  await withDatabase(rig.databaseUrl, async (client) => {
    await client.query('begin; set local search_path = agents');
    let accepting: Promise<unknown> | undefined;
    // The deletion stands still after its first statement.
    const sql = (async (text: string, values: unknown[]) => {
      const { rows } = await client.query(text, values);
      if (accepting !== undefined) return rows;
      accepting = accept();
      await until('the acceptance waits', async () => (await countLockWaits(rig.databaseUrl)) > 0);
      return rows;
    }) as unknown as Sql;
    const reader = { tenant: { organizationId, environment }, agentId, userId: 'usr_1' } as const;
    expect(await markConversationDeleted(sql, reader, conversationId)).toBe('deleted');
    await client.query('commit');
    expect(await accepting).toBe(2);
  });
});
