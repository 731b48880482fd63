import type { RunningProcess } from '@agent-service/runtime';
import { testRedis, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createPublisher } from '../src/channels/publisher.ts';
import { openRedis, openReplyChannel, openWorkerChannel, type RedisConnections, type Reply } from '../src/index.ts';
import { auto, patient, testProcess } from './support.ts';

let process: RunningProcess;
let redis: RedisConnections;
beforeAll(async () => {
  process = await testProcess();
  redis = await openRedis(process, auto((await testRedis()).url), patient);
});
afterAll(() => process.stop());

const message: Extract<Reply, { kind: 'ended' }>['message'] = {
  id: 'msg_1',
  conversationId: 'conv_1',
  agentId: 'agt_1',
  role: 'assistant',
  content: '120',
  contentType: 'markdown',
  creditsConsumed: 2,
  modelUsed: 'Fast',
  createdAt: '2026-03-01T12:00:00.000Z',
  status: 'completed',
  failure: null,
  queries: [{ statement: 'select 1', tables: ['orders'], rows: 1, durationMs: 2 }],
  record: null,
};
const end = { kind: 'ended', id: 'msg_1', message } as const;

const openReplies = async () => {
  const received: Reply[] = [];
  const channel = await openReplyChannel(process, redis, (replies) => void received.push(...replies));
  return { channel, received };
};
const publishAnything = (address: string, ...all: unknown[]) => {
  const { publish } = createPublisher<unknown>(process, redis);
  for (const one of all) publish(address, one);
};
const faults = async () =>
  Number(
    /queue="(?:replies|worker)".* (\d+)$/m.exec(await process.metrics.registry.getSingleMetricAsString('queue_faults_total'))?.[1] ?? 0,
  );

test('replies of other forms are dropped, counted as faults and count as lost, and the others of their parcel arrive', async () => {
  const { channel, received } = await openReplies();
  const before = await faults();
  const refused = [
    { ...end, message: {} },
    { ...end, id: 'msg_2' },
    { ...end, message: { ...message, status: 'running' } },
    { ...end, message: { ...message, queries: [null] } },
    { ...end, message: { ...message, record: { usage: null, resultJson: '{', steps: [] } } },
    { kind: 'delta', id: 'msg_1', attempt: 1 },
    { kind: 'delta', id: 'msg_1', attempt: 'x', text: '' },
    { kind: 'tool', id: 'msg_1', attempt: 1, step: null },
    { kind: 'other', id: 'msg_1' },
    null,
  ];
  const good = { kind: 'delta', id: 'msg_1', attempt: 1, restarts: 1, text: 'a' };
  publishAnything(channel.address, ...refused, good, end);
  await until('the others arrive', async () => received.length >= 2);
  expect(received).toEqual([good, end]);
  expect(channel.lastGapAt).toBeGreaterThan(0);
  expect((await faults()) - before).toBe(refused.length);
});

test('what is published without the key of the channel is dropped, also with the signature of another parcel', async () => {
  const { channel, received } = await openReplies();
  const { channel: other } = await openReplies();
  const before = await faults();
  const subscriber = redis.openSubscriber();
  const texts: string[] = [];
  subscriber.on('message', (_, text: string) => void (text !== '' && texts.push(text)));
  await subscriber.connect();
  await subscriber.subscribe(other.name);
  publishAnything(other.address, end);
  await until('a signed parcel arrives', async () => texts.length > 0);
  subscriber.disconnect();
  const [signed = ''] = texts;
  const parcel = JSON.stringify(['x', 1, [end]]);
  const forged = [signed, parcel, signed.slice(0, 43) + parcel, 'x'.repeat(43) + parcel, '{', 'null'];
  for (const text of forged) await redis.commands.publish(channel.name, text);
  publishAnything(channel.name, end);
  const last = { kind: 'started', id: 'msg_last', attempt: 1 };
  publishAnything(channel.address, last);
  await until('the last one arrives', async () => received.length > 0);
  await until('the rest is dropped', async () => (await faults()) - before === forged.length + 1);
  expect([received, channel.lastGapAt]).toEqual([[last], 0]);
});

test('a process of the version before, whose channel has no key, gets parcels without a signature', async () => {
  const subscriber = redis.openSubscriber();
  const texts: string[] = [];
  subscriber.on('message', (_, text: string) => void texts.push(text));
  await subscriber.connect();
  await subscriber.subscribe('replies:before');
  publishAnything('replies:before', end);
  await until('a parcel arrives', async () => texts.length > 0);
  subscriber.disconnect();
  expect(JSON.parse(texts[0] ?? '')).toEqual([expect.any(String), 1, [end]]);
});

test('notices of other forms are dropped', async () => {
  const received: unknown[] = [];
  const channel = await openWorkerChannel(process, redis, (notices) => void received.push(...notices));
  const notice = { kind: 'unwanted', id: 'msg_1', attempt: 1 };
  const refused = [null, 1, {}, { ...notice, id: {} }, { ...notice, attempt: null }, { ...notice, kind: '__proto__' }];
  publishAnything(channel.address, ...refused, notice);
  await until('the notice arrives', async () => received.length > 0);
  expect(received).toEqual([notice]);
});
