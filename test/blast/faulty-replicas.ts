import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { type Misbehaviour, repeatFor } from './misbehaviour.ts';
import type { BlastWorld } from './world.ts';

function processOf({ system }: BlastWorld, name: string) {
  const process = system.processes.get(name);
  if (!process) throw new Error(`there is no process ${name}`);
  return process;
}

/** Longer than a call waits before it is sent to another replica. */
const leastFrozenMs = 3_000;

/** SIGSTOP: its connections stay open and nothing answers on them. */
const frozenReplica = (name: string, coveredBy?: string): Misbehaviour => ({
  name: `one of two replicas of ${name} is frozen`,
  ...(coveredBy !== undefined && { coveredBy }),
  async run(world, durationMs) {
    const frozen = processOf(world, `${name}-2`);
    frozen.kill('SIGSTOP');
    try {
      await pause(Math.max(durationMs, leastFrozenMs));
    } finally {
      frozen.kill('SIGCONT');
    }
    await pause(1_000);
  },
});

/** Times of day only: the monotonic clock goes on as it was. */
const wrongClock = (aheadMs: number): Misbehaviour => ({
  name: `one replica of each service has a clock that is ${aheadMs / 1000} s ahead`,
  coveredBy: 'services/gateway/test/faults/clocks.test.ts',
  async run(world, durationMs) {
    const skewed = ['identity-2', 'credits-2', 'agents-2', 'answer-worker-2'].map((name) => processOf(world, name));
    const setClocks = async (ms: number) => {
      for (const process of skewed) {
        world.clocks.shift(process, ms);
        await pause(100);
      }
    };
    await setClocks(aheadMs);
    await pause(durationMs);
    await setClocks(0);
    await pause(1_000);
  },
});

const killedWorker: Misbehaviour = {
  name: 'an answer kills its worker, three times',
  coveredBy: 'services/agents/test/answers/poison.test.ts',
  async run(world, durationMs) {
    await repeatFor(durationMs, 1, async (index) => {
      if (index < 3) processOf(world, 'answer-worker-2').kill('SIGKILL');
      await world.sendHostileMessage(`Poison ${index}`);
      await pause(durationMs / 4);
    });
  },
};

/** Holds row locks of the hostile tenant in a session of another program, while the tenant goes on sending. */
const lockedRow = (table: string): Misbehaviour => ({
  name: `a row of ${table} that belongs to one tenant stays locked`,
  ...(table !== 'credits.ledgers' && { coveredBy: 'services/gateway/test/faults/slow-tenant.test.ts' }),
  async run(world, durationMs) {
    const session = new Client({ connectionString: world.databaseUrl });
    await session.connect();
    await world.sendHostileMessage('Makes the row');
    try {
      await session.query('begin');
      await session.query(`select 1 from ${table} where organization_id = $1 for update`, [world.hostile.organizationId]);
      await repeatFor(durationMs, 8, (index) => world.sendHostileMessage(`Locked ${index}`).then(() => pause(100)));
    } finally {
      await session.query('rollback');
      await session.end();
    }
  },
});

export const faultyReplicas: readonly Misbehaviour[] = [
  frozenReplica('agents'),
  frozenReplica('credits', 'services/credits/test/frozen.test.ts'),
  frozenReplica('identity', 'packages/contracts/test/replicas.test.ts'),
  frozenReplica('answer-worker'),
  wrongClock(1_200),
  wrongClock(20_000),
  killedWorker,
  lockedRow('credits.ledgers'),
  lockedRow('credits.user_accounts'),
  lockedRow('agents.answer_lines'),
  lockedRow('agents.agents'),
];
