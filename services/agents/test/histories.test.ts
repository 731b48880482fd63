import { randomFrom, runSeed } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { asCaller, type BootedService, boot, createAgent } from './boot.ts';

const rounds = Number(process.env['AGENT_HISTORIES'] ?? 2);
const seed = runSeed('histories of agents');
const tenants = [{ organizationId: 'org_a' }, { organizationId: 'org_b' }, { organizationId: 'org_a', environment: 'test' as const }];
let agents: BootedService;

beforeAll(async () => {
  agents = await boot();
});
afterAll(() => agents.stop());

const counted = `
  select 'counted' as kind, organization_id, environment, status, null as category, count from agent_counts where count > 0
  union all select 'counted', organization_id, environment, status, category, count from agent_category_counts
  order by 2, 3, 4, 5 nulls first`;
const recounted = `
  select 'counted' as kind, organization_id, environment, status, category, count(*) from agents
  group by grouping sets ((organization_id, environment, status), (organization_id, environment, status, category))
  order by 2, 3, 4, 5 nulls first`;

/** Ten who each create, change and delete agents of all tenants, often the very same ones. */
async function disorder(seed: number): Promise<{ done: number; refused: Set<string> }> {
  const known: { id: string; tenant: (typeof tenants)[number] }[] = [];
  const refused = new Set<string>();
  let done = 0;
  const one = async (random: ReturnType<typeof randomFrom>): Promise<void> => {
    const pick = <T>(from: readonly T[]): T => from[random.below(from.length)] as T;
    for (let step = 0; step < 25; step += 1) {
      const what = random.below(10);
      const changes = { category: pick(['', 'a', 'b', 'c']), status: pick(['draft', 'active', 'inactive']) };
      const target = known.length > 0 ? pick(known.slice(-6)) : undefined;
      try {
        if (what < 3 || !target) {
          const tenant = pick(tenants);
          known.push({ tenant, id: await createAgent(agents.gateway, { category: changes.category }, tenant) });
        } else if (what < 9) await asCaller(target.tenant, () => agents.gateway.updateAgent({ agentId: target.id, ...changes }));
        else await asCaller(target.tenant, () => agents.gateway.deleteAgent({ agentId: target.id }));
        done += 1;
      } catch (cause) {
        refused.add((cause as { code: string }).code);
      }
    }
  };
  await Promise.all(Array.from({ length: 10 }, (_, n) => one(randomFrom(seed + n))));
  return { done, refused };
}

const numbers = Array.from({ length: rounds }, (_, round) => round);

test.each(numbers)(
  'after concurrent changes the counters equal the counted rows, and no change is refused for another reason (%i)',
  async (round) => {
    const { done, refused } = await disorder(seed + round * 100);
    expect(done).toBeGreaterThan(100);
    expect([...refused].filter((code) => !['not_found', 'invalid_status_transition'].includes(code))).toEqual([]);
    const [kept, real] = await Promise.all([agents.database.query(counted), agents.database.query(recounted)]);
    expect(kept.rows).toEqual(real.rows);
    expect(real.rows.length).toBeGreaterThan(5);
  },
);
