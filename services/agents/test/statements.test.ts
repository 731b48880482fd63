import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { answerStatements } from '../src/answers/store/statements.ts';
import { createMessagePartitions } from '../src/answers/sweeps.ts';
import { type Wired, wired } from './wired.ts';

let agents: Wired;
beforeAll(async () => {
  agents = await wired();
  await createMessagePartitions(agents.store).ensure(Date.now());
}, 60_000);
afterAll(() => agents.stop());

test('every statement of answers prepares against the migrated schema', async () => {
  const client = await agents.database.connect();
  for (const [name, text] of Object.entries(answerStatements)) await client.query(`prepare "${name}" as ${text}`);
  const { rows } = await client.query<{ name: string }>('select name from pg_prepared_statements order by name');
  client.release(true);
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(answerStatements).toSorted());
});
