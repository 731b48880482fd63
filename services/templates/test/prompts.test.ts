import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client } from 'pg';
import { builtInFolder, readTemplateFolder } from '../src/catalogue.ts';
import { difference, tableIn } from './support/table.ts';
import { dataIn, shareWorld, type World } from './support/world.ts';

const files = await readTemplateFolder(builtInFolder);
const templates = files.flatMap((file) => ('template' in file ? [file.template] : []));

let world: World;
let data: Client;
beforeAll(async () => {
  world = await shareWorld();
  const url = new URL(world.system.endpoints['postgres'] ?? '');
  url.pathname += '_demonstration';
  data = new Client({ connectionString: url.href, options: '-c timezone=UTC' });
  await data.connect();
}, 120_000);
afterAll(async () => {
  await data.end();
  await world.stop();
});

/** Every value in the text format of PostgreSQL. */
const asWritten = { getTypeParser: () => (value: string) => value };

async function figuresOf(sql: string): Promise<string[][]> {
  const { rows } = await data.query<string[]>({ text: sql, rowMode: 'array', types: asWritten });
  return rows;
}

async function ask(agentId: string, message: string): Promise<string> {
  const answer = await world.call(world.demonstration.test, 'POST', `/v1/agents/${agentId}/messages`, { body: { message } });
  expect([message, answer.status]).toEqual([message, 200]);
  return dataIn<{ content: string }>(answer).content;
}

let withFigures = 0;
let promptCount = 0;

test.each(templates.map((template) => [template.id, template] as const))(
  '%s answers each of its suggested prompts with the figures of its statement',
  async (id, { suggested_prompts: prompts }) => {
    const activated = await world.call(world.demonstration.test, 'POST', `/v1/templates/${id}/activate`);
    expect(activated.status).toBe(201);
    const { agent_id: agentId } = dataIn<{ agent_id: string }>(activated);
    for (const { prompt, sql } of prompts) {
      const [content, expected] = [await ask(agentId, prompt), await figuresOf(sql ?? '')];
      expect({ prompt, content, ...difference(tableIn(content), expected) }).toEqual({ prompt, content, missing: [], more: [] });
      promptCount += 1;
      if (expected.length > 0) withFigures += 1;
    }
  },
);

test('nearly all prompts have figures', () => {
  expect(promptCount).toBe(templates.flatMap(({ suggested_prompts: prompts }) => prompts).length);
  // On some days no order is late and no purchase is expected.
  expect(withFigures / promptCount).toBeGreaterThan(0.9);
});
