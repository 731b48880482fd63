import { setTimeout as pause } from 'node:timers/promises';
import { summarize, until } from '@agent-service/testkit';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { faultyReplicas } from './faulty-replicas.ts';
import { hostileCallers } from './hostile-callers.ts';
import { type SteadyResult, startSteadyTraffic } from './steady-traffic.ts';
import { type BlastWorld, startBlastWorld, steadyContent } from './world.ts';

/** BLAST=long: as long as the faults that were seen, and with the figures that are promised, on a machine of its own. */
const isLong = process.env['BLAST'] === 'long';
const durationMs = isLong ? 14_000 : 800;
const perSecond = isLong ? 15 : 8;
const acceptedWithinMs = 1_500;
const answeredWithinMs = 60_000;

let world: BlastWorld;
let accepted = 0;

beforeAll(async () => {
  world = await startBlastWorld();
}, 120_000);
afterAll(() => world?.stop());

/** Sends the steady tenant's messages while the work goes on. */
async function steadyDuring(work: () => Promise<void>): Promise<SteadyResult> {
  const traffic = startSteadyTraffic({ url: world.system.url, ...world.steady, perSecond });
  await work().catch(async (cause: unknown) => {
    await traffic.stop();
    throw cause;
  });
  const result = await traffic.stop();
  accepted += result.messageIds.length;
  return result;
}

/** The messages that have no answer from the tenant's own data when the time is over. */
async function untilAnswered(messageIds: readonly string[]): Promise<string[]> {
  const client = new Client({ connectionString: world.databaseUrl });
  await client.connect();
  try {
    const end = performance.now() + answeredWithinMs;
    for (;;) {
      const { rows } = await client.query<{ id: string }>(
        `select id from unnest($1::text[]) as sent (id)
         where not exists (select 1 from agents.messages m where m.id = sent.id and m.status = 'completed' and m.content = $2)`,
        [messageIds, steadyContent],
      );
      if (rows.length === 0 || performance.now() > end) return rows.map(({ id }) => id);
      await pause(100);
    }
  } finally {
    await client.end();
  }
}

const misbehaviours = [...hostileCallers, ...faultyReplicas].filter(({ coveredBy }) => isLong || coveredBy === undefined);

describe.each(misbehaviours.map((one) => [one.name, one] as const))('%s', (_name, misbehaviour) => {
  test('and the other tenant does not notice', async () => {
    const { samples, messageIds } = await steadyDuring(() => misbehaviour.run(world, durationMs));
    const { sent, failures, p99 } = summarize(samples);
    process.stdout.write(`${misbehaviour.name}: ${sent} sent, p99 ${Math.round(p99)} ms\n`);
    expect(failures).toEqual([]);
    expect(sent).toBeGreaterThan(0);
    if (isLong) {
      expect(sent).toBeGreaterThan((durationMs / 1000) * perSecond * 0.8);
      expect(p99).toBeLessThan(acceptedWithinMs);
    }
    expect(await untilAnswered(messageIds)).toEqual([]);
  }, 180_000);
});

/** The steady tenant's answers, waiting answers and holds that are not finished. */
async function unfinished(client: Client): Promise<number> {
  const { rows } = await client.query<{ left: string }>(
    `select (select count(*) from agents.answers where organization_id = $1)
          + (select coalesce(sum(waiting + in_flight), 0) from agents.answer_lines where organization_id = $1)
          + (select count(*) from credits.holds where organization_id = $1 and state = 'open') as left`,
    [world.steady.organizationId],
  );
  return Number(rows[0]?.left);
}

test('every message of the other tenant was charged once, and ledger and audit log are whole', async () => {
  const client = new Client({ connectionString: world.databaseUrl });
  await client.connect();
  await until('no answer and no hold of the other tenant is left', async () => (await unfinished(client)) === 0, answeredWithinMs);
  const { rows } = await client.query<{ count: string; conversations: string }>(
    'select count(*), count(distinct conversation_id) as conversations from credits.usage_records where organization_id = $1',
    [world.steady.organizationId],
  );
  await client.end();
  expect(rows).toEqual([{ count: String(accepted), conversations: String(accepted) }]);
  for (const { organizationId } of [world.steady, world.hostile]) {
    expect((await world.operators.credits.verifyLedger({ organizationId })).faults).toEqual([]);
    expect(await world.operators.identity.verifyAuditChain({ organizationId })).toMatchObject({ faults: [] });
  }
}, 120_000);
