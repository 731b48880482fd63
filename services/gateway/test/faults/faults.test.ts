import { setTimeout as pause } from 'node:timers/promises';
import { randomFrom, runSeed } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { expectNothingLost } from './expectations.ts';
import { type Load, startLoad } from './load.ts';
import { type FaultyWorld, startFaultyWorld } from './world.ts';

/** FAULTS=long: the promised times in full, each process separately, more rounds and more callers. */
const long = process.env['FAULTS'] === 'long';
const random = randomFrom(runSeed('faults'));
const rounds = long ? 8 : 1;
const callers = long ? 30 : 4;
/** The short form sends half as many messages: its faults are fewer, and as random. */
const modelMs = long ? 150 : 300;

let world: FaultyWorld;
beforeAll(async () => {
  world = await startFaultyWorld({ modelMs, settings: { REPLICAS: 'gateway=2 agents=2 answer-worker=2' } });
}, 120_000);
afterAll(async () => await world?.stop());

const processNamed = (name: string) => {
  const managed = world.system.processes.get(name);
  if (!managed) throw new Error(`there is no process ${name}`);
  return managed;
};

/** Sends messages before, during and after the fault, and waits for all their outcomes. */
async function underLoad(fault: (load: Load) => Promise<void>): Promise<Load> {
  const load = startLoad(world, callers);
  await pause(500 + random.below(500));
  await fault(load);
  await pause(1_000);
  await load.stop();
  return load;
}

const killEach = async (names: readonly string[]) => {
  for (const name of names) {
    processNamed(name).kill('SIGKILL');
    await pause(500 + random.below(1_500));
  }
};

describe('kill -9 at random points under load', () => {
  const services = ['agents', 'credits', 'gateway', 'identity'];

  test.each(long ? services.map((name) => [name]) : [services])(
    'of %s: nothing is lost, answered twice or charged twice',
    async (...names) => {
      for (let round = 0; round < rounds; round += 1) {
        const load = await underLoad(() => killEach(names));
        expect(await expectNothingLost(world, load)).toBe(0);
      }
    },
    400_000,
  );
});

describe('Redis', () => {
  const stoppedMs = long ? 30_000 : 6_000;

  test(`is stopped for ${stoppedMs / 1000} s, and then flushed several times`, async () => {
    const redis = new Redis(world.system.endpoints['redis'] ?? '', { lazyConnect: true });
    const load = await underLoad(async () => {
      await processNamed('redis').stop();
      await pause(stoppedMs);
      await processNamed('redis').start();
      await pause(1_000);
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
  test('is restarted, and then crashes and is restarted by its supervisor', async () => {
    const load = await underLoad(async () => {
      await processNamed('postgres').stop();
      await pause(random.below(2_000));
      await processNamed('postgres').start();
      await pause(1_000);
      processNamed('postgres').kill('SIGQUIT');
      await pause(2_000);
    });
    expect(await expectNothingLost(world, load)).toBe(0);
  }, 200_000);
});

describe('a worker', () => {
  const frozenMs = long ? 45_000 : 20_000;

  test('that is stopped returns its answers, so that no lease has to expire', async () => {
    const before = await leasesLost();
    const load = await underLoad(async () => {
      processNamed('answer-worker').kill('SIGTERM');
      await pause(1_500);
    });
    await expectNothingLost(world, load);
    expect(await leasesLost()).toBe(before);
  }, 200_000);

  test(`that is frozen for ${frozenMs / 1000} s has lost its leases when it continues, and a second worker is killed in that time`, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const load = await underLoad(async () => {
        processNamed('answer-worker').kill('SIGSTOP');
        await pause(random.below(1_500));
        processNamed('answer-worker-2').kill('SIGKILL');
        await pause(frozenMs);
        processNamed('answer-worker').kill('SIGCONT');
        await pause(2_000);
      });
      await expectNothingLost(world, load);
    }
  }, 800_000);

  /** The sum over all replicas since their start. */
  async function leasesLost(): Promise<number> {
    const pages = ['agents', 'agents-2'].map(
      async (name) => await (await fetch(`${world.system.endpoints[`${name}.ops`]}/metrics`)).text(),
    );
    const counts = (await Promise.all(pages)).flatMap((page) => [
      ...page.matchAll(/^\w*answers_redispatched_total\{.*reason="(?:lease|died)".*\} (\d+)$/gm),
    ]);
    return counts.reduce((sum, [, count]) => sum + Number(count), 0);
  }
});
