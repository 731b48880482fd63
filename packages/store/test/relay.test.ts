import { ServiceError } from '@agent-service/contracts';
import { createProcess, type RunningProcess } from '@agent-service/runtime';
import { type TestDatabase, testDatabase, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  deadLettersTable,
  migrate,
  migration,
  type OutboxMessage,
  openStore,
  outboxMethods,
  outboxTable,
  type Relay,
  type RelayOptions,
  type Store,
  startRelay,
  writeOutbox,
} from '../src/index.ts';

const settings = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const;

interface Payload {
  organizationId: string;
  text?: string;
}
type Message = OutboxMessage<Payload>;

let database: TestDatabase;
let running: RunningProcess<Store>;
let store: Store;

beforeAll(async () => {
  database = await testDatabase();
  running = await createProcess('test', settings, async (process) => {
    await migrate({
      url: database.url,
      schema: 'relays',
      migrations: [migration('0001', outboxTable), migration('0002', deadLettersTable)],
    });
    return openStore(process, { DATABASE_URL: database.url, DATABASE_POOL_MAX: 10 }, { schema: 'relays', entities: [] });
  });
  store = running.started;
});

afterAll(async () => {
  await running.stop();
  await database.drop();
});

const write = (topic: string, messages: Message[]) => store.transaction(({ sql }) => writeOutbox(sql, topic, messages));
const createMessages = (prefix: string, count: number, organizationId = 'org_a'): Message[] =>
  Array.from({ length: count }, (_, index) => ({ id: `${prefix}${String(index).padStart(5, '0')}`, payload: { organizationId } }));
const waitingIds = async (topic: string) =>
  (await store.sql<{ id: string }>('select id from outbox where topic = $1 order by id', [topic])).map((row) => row.id);
const deadLetters = (topic: string) =>
  store.sql<{ id: string; reason: string; attempts: number; bytes: number }>(
    'select id, reason, attempts, bytes from dead_letters where topic = $1 order by id',
    [topic],
  );
const idsOf = (messages: readonly Message[]) => messages.map((message) => message.id);

/** A relay in a process of its own, so that it can be stopped. */
async function relay(options: RelayOptions<Payload>): Promise<RunningProcess<Relay>> {
  const process = await createProcess('relay', settings, async (context) => startRelay(context, store, options));
  process.started.nudge();
  return process;
}

const refused = () => new ServiceError('invalid_request');
const unavailable = () => new ServiceError('unavailable');

test('messages of a transaction that fails are never sent', async () => {
  const work = store.transaction(async ({ sql }) => {
    await writeOutbox(sql, 'never', createMessages('n', 1));
    throw new Error('no');
  });
  await expect(work).rejects.toThrow('no');
  expect(await waitingIds('never')).toEqual([]);
});

test('messages that cannot be delivered stay and are delivered later, in order, and then are removed', async () => {
  const received: string[] = [];
  let failures = 2;
  const process = await relay({
    topic: 'flaky',
    deliver: async (messages) => {
      if (failures-- > 0) throw unavailable();
      received.push(...idsOf(messages));
    },
  });
  await write('flaky', createMessages('m', 450));
  await until(async () => (await waitingIds('flaky')).length === 0);
  expect(received).toEqual(idsOf(createMessages('m', 450)));
  await process.stop();
});

test('two relays share a topic and no message is delivered by both while it is claimed', async () => {
  const received: string[] = [];
  const deliver = async (messages: Message[]) => void received.push(...idsOf(messages));
  await write('shared', createMessages('s', 600));
  const processes = [await relay({ topic: 'shared', deliver }), await relay({ topic: 'shared', deliver })];
  await until(async () => (await waitingIds('shared')).length === 0);
  expect(received.sort()).toEqual(idsOf(createMessages('s', 600)));
  for (const process of processes) await process.stop();
});

test('25 messages of 400 kB reach a receiver that takes 8 MB in a call', async () => {
  const received: string[] = [];
  const text = 'x'.repeat(400_000);
  await write(
    'large',
    createMessages('l', 25).map(({ id, payload }) => ({ id, payload: { ...payload, text } })),
  );
  const process = await relay({
    topic: 'large',
    deliver: async (messages) => {
      if (JSON.stringify(messages).length > 8 * 1024 * 1024) throw new ServiceError('internal');
      received.push(...idsOf(messages));
    },
  });
  await until(async () => (await waitingIds('large')).length === 0);
  expect(received).toEqual(idsOf(createMessages('l', 25)));
  expect(await deadLetters('large')).toEqual([]);
  await process.stop();
});

test('a message that is refused alone becomes a dead letter, those around it arrive, and an operator can retry it', async () => {
  const received: string[] = [];
  const poison = new Set(['p00000', 'p00077', 'p00249']);
  const process = await relay({
    topic: 'poison',
    pauseAfter: (attempts) => (attempts < 3 ? 10 : undefined),
    deliver: async (messages) => {
      if (messages.some(({ id }) => poison.has(id))) throw refused();
      received.push(...idsOf(messages));
    },
  });
  await write('poison', createMessages('p', 250));
  process.started.nudge();
  await until(async () => (await waitingIds('poison')).length === 0);
  expect(received.sort()).toEqual(idsOf(createMessages('p', 250)).filter((id) => !poison.has(id)));
  const reason = 'invalid_request: The request is not valid.';
  expect(await deadLetters('poison')).toEqual(
    [...poison].map((id) => ({ id, reason, attempts: 3, bytes: JSON.stringify({ organizationId: 'org_a' }).length + 1 })),
  );

  const methods = outboxMethods(store, () => process.started.nudge());
  const call = {} as Parameters<typeof methods.listDeadLetters.handle>[1];
  const { deadLetters: listed = [] } = await methods.listDeadLetters.handle({ limit: 0, afterId: 'p00000' }, call);
  expect(listed).toMatchObject([
    { id: 'p00077', topic: 'poison', organizationId: 'org_a', reason },
    { id: 'p00249', topic: 'poison' },
  ]);
  const tooMany = { ids: Array.from({ length: 201 }, () => 'p00000') };
  await expect(methods.retryDeadLetters.handle(tooMany, call)).rejects.toMatchObject({ code: 'invalid_request', param: 'ids' });
  expect(await deadLetters('poison')).toHaveLength(3);
  poison.clear();
  expect(await methods.retryDeadLetters.handle({ ids: ['p00000', 'p00077', 'unknown'] }, call)).toEqual({ retried: 2 });
  await until(() => received.includes('p00000') && received.includes('p00077'));
  expect((await deadLetters('poison')).map(({ id }) => id)).toEqual(['p00249']);
  await process.stop();
});

test('no message is lost while the receiver is unavailable, overloaded or refuses everything', async () => {
  let answer: Error | undefined = unavailable();
  let calls = 0;
  const received = new Set<string>();
  const process = await relay({
    topic: 'outage',
    deliver: async (messages) => {
      calls += 1;
      if (answer) throw answer;
      for (const { id } of messages) received.add(id);
    },
  });
  await write('outage', [...createMessages('oa', 100, 'org_a'), ...createMessages('ob', 100, 'org_b')]);
  for (const failure of [
    unavailable(),
    new ServiceError('rate_limited'),
    new ServiceError('deadline_exceeded'),
    new ServiceError('internal'),
  ]) {
    answer = failure;
    const before = calls;
    await until(() => calls > before + 2);
  }
  answer = undefined;
  await until(async () => (await waitingIds('outage')).length === 0);
  expect(received.size).toBe(200);
  expect(await deadLetters('outage')).toEqual([]);
  await process.stop();
});

const timeout = () => new ServiceError('deadline_exceeded');

test.each([
  ['of other tenants', 'org_b'],
  ['of its own tenant', 'org_a'],
])('a message whose delivery always times out becomes a dead letter, and messages %s arrive in the meantime', async (_, organizationId) => {
  const topic = `timeouts ${organizationId}`;
  const received = new Set<string>();
  const process = await relay({
    topic,
    pauseAfter: (attempts, fault) => (fault === 'receiver' && attempts < 3 ? 10 : undefined),
    deliver: async (messages) => {
      if (messages.some(({ id }) => id === `a${topic}00000`)) throw timeout();
      for (const { id } of messages) received.add(id);
    },
  });
  const others = createMessages(`b${topic}`, 3, organizationId);
  let further = 0;
  await write(topic, [...createMessages(`a${topic}`, 1), ...others]);
  process.started.nudge();
  await until(() => received.size === others.length);
  await until(async () => {
    await write(topic, createMessages(`c${further++}${topic}`, 1, 'org_c'));
    process.started.nudge();
    return (await deadLetters(topic)).length > 0;
  });
  expect(await deadLetters(topic)).toMatchObject([
    { id: `a${topic}00000`, attempts: 3, reason: expect.stringContaining('deadline_exceeded') },
  ]);
  await process.stop();
});

test('while the receiver times out for every message, no attempt is counted', async () => {
  let calls = 0;
  const process = await relay({
    topic: 'all time out',
    pauseAfter: () => undefined,
    deliver: () => {
      calls += 1;
      return Promise.reject(timeout());
    },
  });
  await write('all time out', [...createMessages('ta', 2, 'org_a'), ...createMessages('tb', 1, 'org_b')]);
  process.started.nudge();
  await until(() => calls >= 7);
  await process.stop();
  const rows = await store.sql<{ attempts: number }>("select attempts from outbox where topic = 'all time out'");
  expect(rows.map(({ attempts }) => attempts)).toEqual([0, 0, 0]);
  expect(await deadLetters('all time out')).toEqual([]);
});

test("a tenant's backlog does not delay other tenants: their messages are in the next batches", async () => {
  const batches: string[][] = [];
  const process = await relay({
    topic: 'flood',
    deliver: async (messages) => {
      batches.push(messages.map(({ payload }) => payload.organizationId));
      if (batches.length === 2) await write('flood', createMessages('b', 5, 'org_b'));
    },
  });
  await write('flood', createMessages('a', 5_000));
  process.started.nudge();
  await until(() => batches.flat().includes('org_b'));
  expect(batches.findIndex((tenants) => tenants.includes('org_b'))).toBeLessThanOrEqual(3);
  await until(async () => (await waitingIds('flood')).length === 0);
  await process.stop();
});

test('a tenant whose messages time out gets a lane of its own, and those of other tenants arrive in the meantime', async () => {
  let isSlow = true;
  const received: string[] = [];
  const process = await relay({
    topic: 'lanes',
    deliver: async (messages) => {
      if (isSlow && messages.some(({ payload }) => payload.organizationId === 'org_slow')) throw new ServiceError('deadline_exceeded');
      received.push(...idsOf(messages));
    },
  });
  await write('lanes', [
    ...createMessages('x', 50, 'org_slow'),
    ...Array.from({ length: 60 }, (_, index) => createMessages(`y${index}_`, 3, `org_${index}`)).flat(),
  ]);
  process.started.nudge();
  await until(() => received.length === 180);
  await write('lanes', createMessages('z', 10, 'org_new'));
  process.started.nudge();
  await until(() => received.length === 190);
  // Removed only after they were received.
  await until(async () => (await waitingIds('lanes')).every((id) => id.startsWith('x')));
  expect((await waitingIds('lanes')).length).toBe(50);
  isSlow = false;
  await until(async () => (await waitingIds('lanes')).length === 0);
  expect(new Set(received).size).toBe(240);
  expect(await deadLetters('lanes')).toEqual([]);
  await process.stop();
});

test('a message that is retried does not delay new ones while the receiver lets it wait', async () => {
  const waiting = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const received: string[] = [];
  await write('retried', createMessages('u', 1, 'org_slow'));
  await store.sql("update outbox set attempts = 1 where topic = 'retried'");
  const process = await relay({
    topic: 'retried',
    deliver: async (messages) => {
      if (messages.some(({ payload }) => payload.organizationId === 'org_slow')) {
        waiting.resolve();
        await answered.promise;
      }
      received.push(...idsOf(messages));
    },
  });
  await waiting.promise;
  await write('retried', createMessages('v', 3, 'org_b'));
  process.started.nudge();
  await until('the new messages have arrived', () => received.length === 3);
  answered.resolve();
  await until(async () => (await waitingIds('retried')).length === 0);
  expect(received).toEqual([...idsOf(createMessages('v', 3)), 'u00000']);
  await process.stop();
});

test('messages that a frozen replica has claimed are delivered by another replica', async () => {
  const frozen = Promise.withResolvers<void>();
  const delivering = Promise.withResolvers<void>();
  await write('frozen', createMessages('f', 20));
  const first = await relay({
    topic: 'frozen',
    deliver: () => {
      delivering.resolve();
      return frozen.promise;
    },
  });
  await delivering.promise;
  const received: string[] = [];
  const second = await relay({ topic: 'frozen', claimMs: 500, deliver: async (messages) => void received.push(...idsOf(messages)) });
  await store.sql("update outbox set claimed_until = now() + interval '200 ms' where topic = 'frozen'");
  await until(async () => (await waitingIds('frozen')).length === 0);
  expect(received).toEqual(idsOf(createMessages('f', 20)));
  frozen.resolve();
  await first.stop();
  await second.stop();
});

test('metrics count the waiting messages and the dead letters', async () => {
  await write('measured', [...createMessages('w', 3), { id: 'q', payload: { organizationId: 'org_a' } }]);
  await store.sql(`insert into dead_letters (id, topic, organization_id, payload, bytes, attempts, reason, created_at, dead_at)
    values ('d', 'measured', 'org_a', '{}', 2, 4, 'r', now(), now() - interval '90 seconds')`);
  const process = await createProcess('measured', settings, async (context) => {
    startRelay<Payload>(context, store, { topic: 'measured', deliver: () => Promise.reject(unavailable()) });
    return context.metrics.registry;
  });
  const text = () => process.started.metrics();
  await until(async () => (await text()).includes('outbox_messages{topic="measured",service="measured"} 4'));
  expect(await text()).toContain('outbox_dead_letters{topic="measured",service="measured"} 1');
  expect(await text()).toMatch(/outbox_oldest_dead_letter_seconds\{topic="measured",service="measured"\} 9\d\./);
  await process.stop();
});
