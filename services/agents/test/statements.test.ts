import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createMessagePartitions } from '../src/answers/sweeps.ts';
import { statements } from '../src/start.ts';
import { type Composition, compose } from './compose.ts';

let agents: Composition;
beforeAll(async () => {
  agents = await compose();
  await createMessagePartitions(agents.store).ensure(Date.now());
}, 60_000);
afterAll(() => agents.stop());

test('every listed statement prepares against the migrated schema', async () => {
  const client = await agents.database.connect();
  for (const [name, text] of Object.entries(statements)) await client.query(`prepare "${name}" as ${text}`);
  const { rows } = await client.query<{ name: string }>('select name from pg_prepared_statements order by name');
  client.release(true);
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(statements).toSorted());
});
