import { randomFrom, runSeed } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
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

test('an agent whose lists hold null since a former version can be read', async () => {
  const agentId = await createAgent(agents.gateway);
  await agents.database.query(`update agents set tables = '{orders,NULL}', suggested_prompts = '{NULL,b}' where id = $1`, [agentId]);
  expect(await read(agentId)).toEqual({ tables: ['orders', 'NULL'], suggestedPrompts: ['NULL', 'b'] });
});
