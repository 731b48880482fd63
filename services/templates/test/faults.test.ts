import { randomUUID } from 'node:crypto';
import { type ReceivedResponse, until } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { dataIn, errorIn, type Organization, type OwnWorld, startWorld } from './support/world.ts';

const organizationCount = 6;
const rounds = Number(process.env['TEMPLATE_FAULT_ROUNDS'] ?? 2);
const effectsBetweenKills = 16;
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

/** Asks under one key until somebody has decided, as a careful client does. */
async function decided(key: string, path: string): Promise<ReceivedResponse> {
  const headers = { 'idempotency-key': randomUUID() };
  let answer: ReceivedResponse | undefined;
  const ask = async () => {
    answer = await world.call(key, 'POST', path, { headers });
    return answer.status !== 503 && !(answer.status === 409 && errorIn(answer).code === 'idempotency_in_progress');
  };
  await until(`POST ${path} is decided`, ask, 60_000);
  return answer as ReceivedResponse;
}

let effects = 0;
let kills = 0;

/** Now the one service dies and now the other, with all that the others have under way in it. */
function countEffect(): void {
  effects += 1;
  if (effects % effectsBetweenKills !== 0) return;
  world.system.processes.get(kills % 2 === 0 ? 'agents' : 'templates')?.kill('SIGKILL');
  kills += 1;
}

/** Activates and deactivates in turn; answers with the agents that it was told of. */
async function toAndFro({ keys }: Organization, template: string): Promise<string[]> {
  const told: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    for (const [act, status] of turns) {
      const answer = await decided(keys.live, `/v1/templates/${template}/${act}`);
      // One that was lost on its way back would be a conflict here: its effect was there, and its key did not tell.
      expect([template, round, act, answer.status]).toEqual([template, round, act, status]);
      told.push(dataIn<{ agent_id: string }>(answer).agent_id);
      countEffect();
    }
  }
  return told;
}

test('with templates and agents killed in between, every effect happens once and stays the same agent’s', async () => {
  const organizations = await Promise.all(Array.from({ length: organizationCount }, () => world.makeOrganization()));
  const told = await Promise.all(organizations.flatMap((one) => templates.map((template) => toAndFro(one, template))));
  for (const agents of told) expect(new Set(agents).size).toBe(1);
  expect(kills).toBeGreaterThanOrEqual(4);
  for (const { keys } of organizations) {
    const listed = (await world.call(keys.live, 'GET', '/v1/agents')).json<{ data: { status: string }[]; meta: { total: number } }>();
    expect([listed.meta.total, listed.data.map(({ status }) => status)]).toEqual([templates.length, templates.map(() => 'inactive')]);
  }
}, 120_000);
