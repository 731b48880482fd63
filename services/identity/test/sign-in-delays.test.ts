import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKeyedHash } from '../src/domain/secrets.ts';
import { keyHashSecret } from './boot.ts';
import { outcomeOf, type PortalWorld, portalWorld } from './portal-world.ts';

let world: PortalWorld;
beforeAll(async () => {
  world = await portalWorld();
});
afterAll(() => world?.stop());

/** How many entries about delays each of the organizations has. */
async function delaysIn(...organizations: string[]): Promise<number[]> {
  // The relay may have delivered a message that it has not removed yet.
  const rows = await world.database(
    `select organization_id as organization, id from identity.outbox where payload ->> 'action' = 'sign_in.delayed'
     union select organization_id, id from identity.audit_entries where action = 'sign_in.delayed'`,
  );
  return organizations.map((id) => rows.filter(({ organization }) => organization === id).length);
}

test('a sign-in from one address is delayed after five failures, which delays no other address and no other person', async () => {
  const [victim, neighbour] = [await world.makeOrganization(), await world.makeOrganization()];
  const attacker = world.browser();
  const attempt = () => outcomeOf(world.signIn(victim.email, { password: 'a wrong password', client: attacker }));
  const outcomes: string[] = [];
  for (let count = 0; count < 8; count += 1) outcomes.push(await attempt());
  expect(outcomes.slice(0, 5)).toEqual(Array(5).fill('invalid_credentials'));
  expect(outcomes.at(-1)).toBe('rate_limited');
  // Not even the right password is looked at from there.
  expect(await outcomeOf(world.signIn(victim.email, { client: attacker }))).toBe('rate_limited');
  expect(await outcomeOf(world.signIn(victim.email))).toBe('ok');
  expect(await outcomeOf(world.signIn(neighbour.email, { client: attacker }))).toBe('ok');
  const [entries, ofNeighbour] = await delaysIn(victim.organizationId, neighbour.organizationId);
  expect([entries, ofNeighbour]).toEqual([outcomes.filter((outcome) => outcome === 'invalid_credentials').length - 4, 0]);
});

test('a sign-in that is delayed is recorded in each organization where the address has a password, or in the one that the caller names', async () => {
  const { email, organizationId: first } = await world.makeOrganization('two-organizations@acme.example');
  const { organizationId: second } = await world.makeOrganization(email);
  const { organizationId: without } = await world.service.operator.createOrganization({ name: 'Without', email });
  const fail = async (organizationId: string) => {
    const client = world.browser();
    for (let count = 0; count < 5; count += 1)
      await outcomeOf(world.signIn(email, { password: 'a wrong password', organizationId, client }));
  };
  await fail(second);
  expect(await delaysIn(first, second, without)).toEqual([0, 1, 0]);
  for (const unnamed of ['', 'org_unknown']) await fail(unnamed);
  expect(await delaysIn(first, second, without)).toEqual([2, 3, 0]);
});

test('a sign-in that succeeds for one user of an e-mail address does not forget the failures for another user', async () => {
  const email = 'two-users@acme.example';
  await world.makeOrganization(email);
  const { organizationId } = await world.makeOrganization(email, 'the password of the attacker');
  const client = world.browser();
  const outcomes: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    for (let count = 0; count < 2; count += 1)
      outcomes.push(await outcomeOf(world.signIn(email, { password: 'a wrong password', client })));
    outcomes.push(await outcomeOf(world.signIn(email, { password: 'the password of the attacker', organizationId, client })));
  }
  expect(outcomes.slice(0, 3)).toEqual(['invalid_credentials', 'invalid_credentials', 'ok']);
  expect(outcomes.slice(-2)).toEqual(['rate_limited', 'rate_limited']);
});

test('a sign-in is delayed under every spelling by which an address is found', async () => {
  const { email } = await world.makeOrganization('information@i.example');
  const client = world.browser();
  // PostgreSQL and JavaScript fold the dotted capital I in different ways.
  const spellings = [email, email.toUpperCase(), email.replaceAll('i', '\u0130'), email.replace('i', '\u0130')];
  const [known] = await world.database('select count(*)::integer as count from unnest($1::text[]) as spelling where lower(spelling) = $2', [
    spellings,
    email,
  ]);
  const outcomes: string[] = [];
  for (let round = 0; round < 4; round += 1)
    for (const spelling of spellings) outcomes.push(await outcomeOf(world.signIn(spelling, { password: 'a wrong password', client })));
  const refused = outcomes.filter((outcome) => outcome === 'invalid_credentials').length;
  expect(known).toEqual({ count: spellings.length });
  expect(refused).toBe(5);
});

test('a sign-in counts attempts that are made at the same time', async () => {
  const { email } = await world.makeOrganization();
  const client = world.browser();
  const outcomes = await Promise.all(
    Array.from({ length: 15 }, () => outcomeOf(world.signIn(email, { password: 'a wrong password', client }))),
  );
  expect(outcomes.filter((outcome) => outcome === 'invalid_credentials').length).toBeLessThanOrEqual(6);
});

test('a sign-in waits for 15 minutes at most, and as at first an hour after the last attempt', async () => {
  const { email } = await world.makeOrganization();
  const client = world.browser();
  const attempt = () => outcomeOf(world.signIn(email, { password: 'a wrong password', client }));
  const key = createKeyedHash([keyHashSecret])(`sign-in\n${client.countedAddress}\n${email}`);
  const change = (columns: string) => world.database(`update identity.sign_in_limits set ${columns} where key = $1 returning key`, [key]);
  await attempt();
  expect(await change('attempts = 29')).toHaveLength(1);
  await attempt();
  const pause =
    'select extract(epoch from blocked_until - clock_timestamp())::float8 as seconds from identity.sign_in_limits where key = $1';
  const [{ seconds }] = (await world.database(pause, [key])) as [{ seconds: number }];
  expect([seconds > 800, seconds <= 900]).toEqual([true, true]);
  expect(await attempt()).toBe('rate_limited');
  await change(`blocked_until = now(), ends_at = now()`);
  expect([await attempt(), await attempt()]).toEqual(['invalid_credentials', 'invalid_credentials']);
});

test('a sign-in of one address is limited for all e-mail addresses together, and of no other address', async () => {
  const { email } = await world.makeOrganization();
  const client = world.browser();
  await world.signIn(email, { client });
  // As if the address had sent 59 others in this minute; only its counter ends so soon.
  await world.database(`update identity.sign_in_limits set attempts = 60 where ends_at < now() + interval '2 minutes'`);
  expect(await outcomeOf(world.signIn('nobody@acme.example', { client }))).toBe('rate_limited');
  expect(await outcomeOf(world.signIn(email))).toBe('ok');
});
