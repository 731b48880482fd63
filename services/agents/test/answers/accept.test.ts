import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Composition, compose, environment, newMessage, organizationId } from './support/compose.ts';

let rig: Composition;
beforeAll(async () => {
  rig = await compose();
}, 30_000);
afterAll(() => rig?.stop());

/** Gives another organization an agent of the same id. */
const addTenant = (name: string) =>
  rig.sql(
    `insert into agents select (jsonb_populate_record(agents, jsonb_build_object('organization_id', $1::text))).* from agents
     where organization_id = $2`,
    [name, organizationId],
  );

test('a message to a full line is refused before credits are held, also before the next of the line is dispatched', async () => {
  await addTenant('org_full');
  const { waiting } = rig.deps.limits;
  await rig.sql('insert into answer_lines (organization_id, environment, waiting, in_flight) values ($1, $2, $3, 0)', [
    'org_full',
    environment,
    waiting,
  ]);
  const message = newMessage(rig.clock.now, { organizationId: 'org_full' });
  expect(await rig.answers.accept(message)).toEqual({ refusal: { code: 'too_many_waiting' } });
  expect(rig.ledger.holds.has(message.id)).toBe(false);
});
