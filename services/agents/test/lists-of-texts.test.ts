import { migrate } from '@agent-service/store';
import { randomFrom, runSeed, testDatabase, withDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { listsOfTexts } from '../src/store/migrations/0015-lists-of-texts.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { asCaller, type BootedService, boot, createAgent } from './boot.ts';

let agents: BootedService;
beforeAll(async () => {
  agents = await boot();
});
afterAll(() => agents.stop());

const read = async (agentId: string) => {
  const { agent } = await asCaller({}, () => agents.gateway.getAgent({ agentId }));
  return { tables: agent?.dataScope?.tables, suggestedPrompts: agent?.suggestedPrompts };
};

/** Creates an agent with the texts as its prompts and tables, changes a second agent to have them, and expects to read both with these. */
async function expectKept(texts: string[]): Promise<void> {
  const created = await createAgent(agents.gateway, { suggestedPrompts: texts, dataScope: { tables: texts } });
  const changed = await createAgent(agents.gateway);
  const values = { values: texts };
  await asCaller({}, () => agents.gateway.updateAgent({ agentId: changed, suggestedPrompts: values, dataScope: { tables: values } }));
  expect(await read(created)).toEqual({ tables: texts, suggestedPrompts: texts });
  expect(await read(changed)).toEqual({ tables: texts, suggestedPrompts: texts });
}

test.each([
  [['NULL', 'null', 'Null']],
  [[' before', 'after ', ' ', '\n']],
  [['a', '\n', 'b']],
  [['1. sales,\n2. costs', 'a\tb, c', '\u0001,']],
  [['say "no"', 'C:\\n', '{}', '{a,b}', '""', '\\', '\\"']],
  [['ä, 😀', 'customers(id,\nname)']],
])('an agent keeps its lists of texts as they are: %j', expectKept);

test('an agent keeps lists of any texts', async () => {
  const random = randomFrom(runSeed('lists of texts'));
  const letters = [...'aN ,{}"\\\n\t\u0001ü😀', 'NULL', '\\n'];
  const textOf = () => Array.from({ length: 1 + random.below(6) }, () => letters[random.below(letters.length)]).join('');
  for (let round = 0; round < 30; round += 1) await expectKept(Array.from({ length: 1 + random.below(5) }, textOf));
});

test('agents whose lists hold null since a former version can be read after the migration', async () => {
  const { url, drop } = await testDatabase();
  try {
    await migrate({ url, schema: 'agents', migrations: migrations.slice(0, migrations.indexOf(listsOfTexts)) });
    const insert = `insert into agents.agents (organization_id, environment, id, name, status, system_prompt, created_by, created_at, updated_at, version,
        folded_name, folded_description, grams, tables, suggested_prompts)
      select 'org_a', 'live', id, 'a', 'active', 'p', 'usr_1', now(), now(), 1, 'a', '', '{}', tables, prompts
      from (values ('agt_1', '{orders,NULL}'::text[], '{}'::text[]), ('agt_2', '{}', '{a,null,b}'), ('agt_3', '{a}', '{b}')) as row (id, tables, prompts)`;
    await withDatabase(url, (client) => client.query(insert));
    await migrate({ url, schema: 'agents', migrations });
    const { rows } = await withDatabase(url, (client) => client.query('select tables, suggested_prompts from agents.agents order by id'));
    expect(rows).toEqual([
      { tables: ['orders', 'null'], suggested_prompts: [] },
      { tables: [], suggested_prompts: ['a', 'NULL', 'b'] },
      { tables: ['a'], suggested_prompts: ['b'] },
    ]);
  } finally {
    await drop();
  }
});
