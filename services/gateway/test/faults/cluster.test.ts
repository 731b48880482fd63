import { setTimeout as pause } from 'node:timers/promises';
import { type TestRedisCluster, testRedisCluster } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectNothingLost } from './expectations.ts';
import { startLoad } from './load.ts';
import { type FaultyWorld, startFaultyWorld } from './world.ts';

/** FAULTS=long. Without it, `answers-on-cluster` has a whole system on a cluster, and `packages/queues/test/modes` fails over. */
const long = process.env['FAULTS'] === 'long' ? describe : describe.skip;
/** As many as one processor serves. */
const callers = 30;

let cluster: TestRedisCluster;
let world: FaultyWorld;

long('a whole system on a Redis Cluster', () => {
  beforeAll(async () => {
    cluster = await testRedisCluster();
    world = await startFaultyWorld({ modelMs: 150, settings: { REDIS_URL: cluster.url, REPLICAS: 'gateway=2 agents=2 answer-worker=2' } });
  }, 120_000);
  afterAll(async () => {
    await world?.stop();
    await cluster?.stop();
  });

  /** Any key of the queue: all of them are in one slot. */
  const queueKey = 'bull:{answers}:wait';

  test('messages are answered, streamed and limited on a Redis Cluster', async () => {
    const load = startLoad(world, callers);
    await pause(2_000);
    await load.stop();
    expect(await expectNothingLost(world, load)).toBe(0);
    const streamed = await untilStreamedWithText();
    expect(streamed.indexOf('event: started')).toBeLessThan(streamed.indexOf('event: delta'));
  }, 120_000);

  async function expectNothingLostDuring(fault: () => Promise<void>, afterMs: number): Promise<void> {
    const load = startLoad(world, callers);
    await pause(1_000);
    await fault();
    await pause(afterMs);
    await load.stop();
    await expectNothingLost(world, load);
  }

  test('slots that move to another node under load cost no answer', async () => {
    await expectNothingLostDuring(() => cluster.failOver(queueKey), 3_000);
  }, 120_000);

  test('a primary that is killed and failed over costs no answer', async () => {
    await expectNothingLostDuring(() => cluster.killPrimary(queueKey), 5_000);
  }, 180_000);
});

/**
 * Every stream ends with the whole answer. Its text comes from the worker and its end from agents, so that the end may overtake the text:
 * a stream without text is allowed once in a while.
 */
async function untilStreamedWithText(): Promise<string> {
  for (let tries = 1; ; tries += 1) {
    const streamed = await stream();
    expect(streamed).toContain('event: completed');
    expect(streamed).toContain('Answer to q-0-0.');
    if (streamed.includes('event: delta') || tries === 3) return streamed;
  }
}

async function stream(): Promise<string> {
  const response = await fetch(`${world.system.url}/v1/agents/${world.agentId}/messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ message: 'Question q-0-0' }),
  });
  return await response.text();
}
