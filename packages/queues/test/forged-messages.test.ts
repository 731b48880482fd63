import type { RunningProcess } from '@agent-service/runtime';
import { testRedis, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createReplyPublisher, openRedis, openReplyChannel, openWorkerChannel, type RedisConnections, type Reply } from '../src/index.ts';
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

const publish = (channel: string, parcel: unknown) =>
  redis.commands.publish(channel, typeof parcel === 'string' ? parcel : JSON.stringify(parcel));
const faults = async () =>
  Number(
    /queue="(?:replies|worker)".* (\d+)$/m.exec(await process.metrics.registry.getSingleMetricAsString('queue_faults_total'))?.[1] ?? 0,
  );

test('replies of other forms are dropped, counted as faults and count as lost, and the others of their parcel arrive', async () => {
  const received: Reply[] = [];
  const channel = await openReplyChannel(process, redis, (replies) => void received.push(...replies));
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
  await publish(channel.name, ['x', 1, [...refused, good]]);
  for (const parcel of ['{', 'null', ['x'], ['x', '2', []], ['x', 2, 'ended']]) await publish(channel.name, parcel);
  createReplyPublisher(process, redis).publish(channel.name, end);
  await until('the publisher is heard', async () => received.length >= 2);
  expect(received).toEqual([good, end]);
  expect(channel.lastGapAt).toBeGreaterThan(0);
  expect(await faults()).toBe(refused.length + 5);
});

test('notices of other forms are dropped', async () => {
  const received: unknown[] = [];
  const channel = await openWorkerChannel(process, redis, (notices) => void received.push(...notices));
  const notice = { kind: 'unwanted', id: 'msg_1', attempt: 1 };
  const refused = [null, 1, {}, { ...notice, id: {} }, { ...notice, attempt: null }, { ...notice, kind: '__proto__' }];
  await publish(channel.name, ['x', 1, [...refused, notice]]);
  await until('the notice arrives', async () => received.length > 0);
  expect(received).toEqual([notice]);
});
