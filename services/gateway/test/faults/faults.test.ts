import { setTimeout as pause } from 'node:timers/promises';
import { randomOf, runSeed } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { expectNothingLost } from './expectations.ts';
import { type Load, startLoad } from './load.ts';
import { type FaultyWorld, startFaultyWorld } from './world.ts';

/** FAULTS=long: the full times of what is promised, and more rounds. */
const long = process.env['FAULTS'] === 'long';
const random = randomOf(runSeed('faults'));
const rounds = long ? 8 : 1;
const callers = 30;
const modelMs = 150;

let world: FaultyWorld;
beforeAll(async () => {
  world = await startFaultyWorld({ modelMs, settings: { REPLICAS: 'gateway=2 agents=2 answer-worker=2' } });
}, 120_000);
afterAll(async () => await world.stop(), 60_000);

const processNamed = (name: string) => {
  const found = world.system.processes.get(name);
  if (!found) throw new Error(`there is no process ${name}`);
  return found;
};

/** Loads the system, lets the fault happen, and accounts for every message. */
async function underLoad(fault: (load: Load) => Promise<void>): Promise<Load> {
  const load = startLoad(world, callers);
  await pause(500 + random.below(500));
  await fault(load);
  await pause(1_000);
  await load.stop();
  return load;
}

const p95 = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;

describe('kill -9 at random points under load', () => {
  test.each(['answer-worker', 'agents', 'credits', 'gateway', 'identity'])(
    'of %s: nothing is lost, answered twice or charged twice',
    async (name) => {
      for (let round = 0; round < rounds; round += 1) {
        const load = await underLoad(async () => {
          processNamed(name).kill('SIGKILL');
          await pause(random.below(1_500));
        });
        const again = await expectNothingLost(world, load);
        // Only the death of a worker may cost the model a second call, and only of what that worker had in hand.
        if (name !== 'answer-worker') expect(again).toBe(0);
        else expect(p95(load.sent.map(({ beganAt, endedAt }) => endedAt - beganAt))).toBeLessThan(20_000);
      }
    },
    300_000,
  );
});

describe('Redis', () => {
  const stoppedMs = long ? 30_000 : 6_000;

  test(`is away for ${stoppedMs / 1000} s`, async () => {
    const load = await underLoad(async () => {
      await processNamed('redis').stop();
      await pause(stoppedMs);
      await processNamed('redis').start();
    });
    await expectNothingLost(world, load);
  }, 200_000);

  test('is flushed, again and again', async () => {
    const redis = new Redis(world.system.endpoints['redis'] ?? '');
    const load = await underLoad(async () => {
      for (let round = 0; round < 2 * rounds; round += 1) {
        await redis.flushall();
        await pause(random.below(1_000));
      }
    });
    redis.disconnect();
    await expectNothingLost(world, load);
  }, 200_000);
});

describe('PostgreSQL', () => {
  test('is restarted', async () => {
    const load = await underLoad(async () => {
      await processNamed('postgres').stop();
      await pause(random.below(2_000));
      await processNamed('postgres').start();
    });
    expect(await expectNothingLost(world, load)).toBe(0);
  }, 200_000);

  test('crashes and is started again by its supervisor', async () => {
    const load = await underLoad(async () => {
      processNamed('postgres').kill('SIGQUIT');
      await pause(2_000);
    });
    expect(await expectNothingLost(world, load)).toBe(0);
  }, 200_000);
});

describe('a worker', () => {
  const frozenMs = long ? 45_000 : 20_000;

  test(`that is frozen for ${frozenMs / 1000} s and woken is not believed`, async () => {
    const load = await underLoad(async () => {
      processNamed('answer-worker').kill('SIGSTOP');
      await pause(frozenMs);
      processNamed('answer-worker').kill('SIGCONT');
      await pause(2_000);
    });
    await expectNothingLost(world, load);
  }, 200_000);

  test('that is asked to stop gives back what it has in hand', async () => {
    const load = await underLoad(async () => {
      processNamed('answer-worker').kill('SIGTERM');
      await pause(1_500);
    });
    await expectNothingLost(world, load);
    expect(Math.max(...load.sent.map(({ beganAt, endedAt }) => endedAt - beganAt))).toBeLessThan(15_000);
  }, 200_000);
});
