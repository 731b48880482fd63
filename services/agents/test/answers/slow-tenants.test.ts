import { tenantName } from '@agent-service/work';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AnswerKey } from '../../src/shared/answer.ts';
import { type Composition, compose, environment, newMessage, organizationId, untilValue } from './support/compose.ts';

let world: Composition;
beforeAll(async () => {
  world = await compose();
});
afterAll(() => world?.stop());

/** Tenants with an agent that are slow: more than there are permits. */
async function makeSlowTenants(prefix: string): Promise<string[]> {
  const names = Array.from({ length: 6 }, (_, n) => `org_${prefix}_${n}`);
  for (const name of names) {
    await world.sql(
      `insert into agents select (jsonb_populate_record(agents, jsonb_build_object('organization_id', $1::text))).* from agents
       where organization_id = $2`,
      [name, organizationId],
    );
    world.deps.slowTenants.ledger.add(tenantName({ organizationId: name, environment }));
  }
  return names;
}

const accept = (name: string) => world.answers.accept(newMessage(world.clock.now, { organizationId: name }));

test('while the ledger does not answer, leases of the tenants that wait for it are renewed', async () => {
  const names = await makeSlowTenants('ledger');
  const { promise: recovered, resolve: recover } = Promise.withResolvers<void>();
  world.ledger.onHold = () => recovered;
  const accepted = names.map(accept);
  const renewed = await Promise.all(
    names.map((name) => world.answers.leases.renew([{ organizationId: name, environment, id: 'msg_none', attempt: 1 }])),
  );
  expect(renewed).toEqual(names.map(() => []));
  world.ledger.onHold = undefined;
  recover();
  for (const outcome of await Promise.all(accepted)) expect(outcome).toHaveProperty('started');
});

test('batches of several slow tenants that each end an answer do not wait for each other', async () => {
  const names = await makeSlowTenants('ends');
  const started = await Promise.all(names.map(accept));
  const keys: (AnswerKey & { attempt: number })[] = started.map((outcome, n) => ({
    organizationId: names[n] as string,
    environment,
    id: 'started' in outcome ? outcome.started.answerId : '',
    attempt: 1,
  }));
  await world.sql(`update answers set state = 'running', attempt = 1, lost_leases = 2 where organization_id = any($1)`, [names]);
  for (const name of names) world.deps.slowTenants.statement.add(tenantName({ organizationId: name, environment }));
  await world.answers.leases.lose(keys);
  const rows = await world.sql<{ status: string }>(`select status from messages where organization_id = any($1) and role = 'assistant'`, [
    names,
  ]);
  expect(rows).toEqual(names.map(() => ({ status: 'failed' })));
});

test('an attempt of a tenant whose agent was deleted delays no attempt of another tenant in its batch', async () => {
  const own = { environment: 'test' } as const;
  await world.sql(
    `insert into agents select (jsonb_populate_record(agents, jsonb_build_object('environment', 'test'))).* from agents where organization_id = $1`,
    [organizationId],
  );
  const [deleted, other] = [newMessage(world.clock.now, own), newMessage(world.clock.now)];
  await Promise.all([deleted, other].map((message) => world.answers.accept(message)));
  await world.sql('delete from agents where organization_id = $1 and environment = $2', [organizationId, own.environment]);
  const begin = ({ environment, id }: AnswerKey) =>
    world.answers.begin({ organizationId, environment, id, claim: id, workerChannel: 'worker:1' });
  const endsOfDeleted = () =>
    world.sql<{ status: string }>(`select status from messages where id = $1 and role = 'assistant'`, [deleted.id]);
  await world.store.transaction(async ({ sql }) => {
    await sql('select 1 from answer_lines where organization_id = $1 and environment = $2 for update', [organizationId, own.environment]);
    // Both environments of an organization share a shard.
    const [orphan, begun] = await Promise.all([begin(deleted), begin(other)]);
    expect(orphan).toHaveProperty('refusal');
    expect(begun).toHaveProperty('input');
    // The end of the other answer still waits for its line.
    expect(await endsOfDeleted()).toEqual([]);
  });
  await untilValue(endsOfDeleted, ([end]) => end?.status === 'failed');
});
