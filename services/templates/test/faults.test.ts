import { randomUUID } from 'node:crypto';
import { type ReceivedResponse, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dataIn, errorIn, type Organization, type OwnWorld, startWorld } from './support/world.ts';

const organizationCount = 6;
const rounds = Number(process.env['TEMPLATE_FAULT_ROUNDS'] ?? 2);
const effectsBetweenKills = 16;
/** A process that dies again and again is started again after ten seconds. */
const limitMs = 80_000 + rounds * 20_000;
const turns = [
  ['activate', 201],
  ['deactivate', 200],
] as const;
const templates = ['tpl_sales_performance', 'tpl_stock_levels', 'tpl_workforce_overview'];

let world: OwnWorld;
beforeAll(async () => {
  world = await startWorld();
}, 120_000);
afterAll(() => world.stop());

/** Repeats the request under one idempotency key until it is decided, as a careful client does. */
async function callUntilDecided(key: string, method: string, path: string): Promise<ReceivedResponse> {
  const headers = { 'idempotency-key': randomUUID() };
  let answer: ReceivedResponse | undefined;
  const call = async () => {
    answer = await world.call(key, method, path, { headers });
    return answer.status !== 503 && !(answer.status === 409 && errorIn(answer).code === 'idempotency_in_progress');
  };
  await until(`${method} ${path} is decided`, call);
  return answer as ReceivedResponse;
}

let effects = 0;
let kills = 0;

/** Kills the two services in turn, with all requests that they work on. */
function countEffect(): void {
  effects += 1;
  if (effects % effectsBetweenKills !== 0) return;
  world.system.processes.get(kills % 2 === 0 ? 'agents' : 'templates')?.kill('SIGKILL');
  kills += 1;
}

/** Activates and deactivates in turn; returns the agent of each response. */
async function alternate({ keys }: Organization, template: string): Promise<string[]> {
  const agentIds: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [act, status] of turns) {
      const answer = await callUntilDecided(keys.live, 'POST', `/v1/templates/${template}/${act}`);
      // If a response was lost and the key did not return the stored one, the repeated request would be a conflict.
      expect([template, round, act, answer.status]).toEqual([template, round, act, status]);
      agentIds.push(dataIn<{ agent_id: string }>(answer).agent_id);
      countEffect();
    }
  }
  return agentIds;
}

interface Listed {
  readonly data: readonly { readonly status: string }[];
  readonly meta: { readonly total: number };
}

test(
  'with templates and agents killed in between, every effect happens once, on the same agent',
  async () => {
    const organizations = await Promise.all(Array.from({ length: organizationCount }, () => world.makeOrganization()));
    const agentIds = await Promise.all(organizations.flatMap((one) => templates.map((template) => alternate(one, template))));
    for (const ids of agentIds) expect(new Set(ids).size).toBe(1);
    expect(kills).toBeGreaterThanOrEqual(4);
    for (const { keys } of organizations) {
      const { meta, data } = (await callUntilDecided(keys.live, 'GET', '/v1/agents')).json<Listed>();
      expect([meta.total, data.map(({ status }) => status)]).toEqual([templates.length, templates.map(() => 'inactive')]);
    }
  },
  limitMs,
);
