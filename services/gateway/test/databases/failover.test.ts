// PostgreSQL and Redis as they are run for real. A long form: npm run test:long -- databases
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { operatorService } from '@agent-service/contracts';
import { clientOf } from '@agent-service/local/system/system';
import { type PostgresPair, postgresPair, type SteadyLoad, steadyLoad, type TestSentinel, testSentinel } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { expectNothingLost } from '../faults/expectations.ts';
import { type Sent, untilKnown } from '../faults/load.ts';
import { type FaultyWorld, startFaultyWorld } from '../faults/world.ts';

const long = process.env['DATABASES'] === 'long' ? describe : describe.skip;
const perSecond = 20;
/** After a failover every message that is sent is answered as fast as before. */
const recoveryLimitMs = 15_000;
const usualMs = 2_000;
const limitMs = 240_000;
const replicas = { REPLICAS: 'gateway=2 agents=2 credits=2 identity=2 answer-worker=2' };

interface Traffic {
  readonly sent: readonly Sent[];
  readonly load: SteadyLoad;
}

let runs = 0;

/** Sends messages at a steady rate, each repeated under its own Idempotency-Key until its outcome is known. */
function startTraffic(world: FaultyWorld): Traffic {
  const [run, sent]: [number, Sent[]] = [1_000 + runs++, []];
  const load = steadyLoad(perSecond, async (index) => {
    const one: Sent = { marker: `q-${run}-${index}`, beganAt: performance.now(), messageId: '', endedAt: 0, outcome: '' };
    sent.push(one);
    await untilKnown(world, one, randomUUID());
  });
  return { sent, load };
}

/** Prints the figures of a failover at this time, and checks that nothing was lost and that messages sent 15 s later wait no longer than usual. */
async function expectRecovery(name: string, world: FaultyWorld, { sent, load }: Traffic, failedAt: number): Promise<void> {
  await load.stop();
  await expectNothingLost(world, { sent, stop: async () => undefined });
  await expectWholeAudit(world);
  const slow = sent.filter(({ beganAt, endedAt }) => beganAt > failedAt && endedAt - beganAt > usualMs);
  const recoveredMs = Math.max(0, ...slow.map(({ beganAt }) => beganAt - failedAt));
  const waits = sent.map((one) => one.endedAt - one.beganAt);
  process.stdout.write(
    `${name}: ${sent.length} messages, none lost; the last that waited more than ${usualMs / 1_000} s was sent ${Math.round(recoveredMs)} ms after the failure; the longest wait was ${Math.round(Math.max(...waits))} ms\n`,
  );
  expect(recoveredMs).toBeLessThan(recoveryLimitMs);
}

/** The audit chains of all organizations. */
async function expectWholeAudit({ system }: FaultyWorld): Promise<void> {
  const identity = clientOf(system, 'identity', operatorService);
  try {
    const { faults, entries, nextCursor } = await identity.verifyAuditChain({ organizationId: '', cursor: '' }, { timeoutMs: 30_000 });
    expect([faults, Number(entries) > 0, nextCursor]).toEqual([[], true, '']);
  } finally {
    identity.close();
  }
}

long('a primary with a synchronous standby', () => {
  let pair: PostgresPair;
  let world: FaultyWorld;
  beforeAll(async () => {
    pair = await postgresPair();
    const started = await startFaultyWorld({ modelMs: 100, settings: { DATABASE_URL: pair.url, ...replicas } });
    // Read after the failover.
    world = { ...started, databaseUrl: pair.standbyUrl };
  }, limitMs);
  afterAll(async () => {
    await world?.stop();
    await pair?.remove();
  }, limitMs);

  test(
    'is killed and its standby promoted: no accepted message is lost, and the rate is back within 15 s',
    async () => {
      const traffic = startTraffic(world);
      await pause(5_000);
      // Commits wait longer than a statement may take: none of them may count as made.
      pair.freezeStandby();
      await pause(12_000);
      pair.thawStandby();
      await pause(5_000);
      const failedAt = performance.now();
      await pair.killPrimary();
      await pause(2_000);
      await pair.promoteStandby();
      await pause(25_000);
      await expectRecovery('PostgreSQL promotion', world, traffic, failedAt);
    },
    limitMs,
  );
});

long('Redis with sentinels', () => {
  let sentinel: TestSentinel;
  let world: FaultyWorld;
  beforeAll(async () => {
    sentinel = await testSentinel();
    world = await startFaultyWorld({ modelMs: 100, settings: { REDIS_URL: sentinel.url, ...replicas } });
  }, limitMs);
  afterAll(async () => {
    await world?.stop();
    await sentinel?.stop();
  }, limitMs);

  test(
    'loses its primary: no accepted message is lost, and the rate is back within 15 s',
    async () => {
      const traffic = startTraffic(world);
      await pause(5_000);
      const failedAt = performance.now();
      await sentinel.killPrimary();
      await pause(25_000);
      await expectRecovery('Redis Sentinel failover', world, traffic, failedAt);
    },
    limitMs,
  );
});
