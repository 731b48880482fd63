import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadSync, type MessageTypeDefinition } from '@grpc/proto-loader';
import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import {
  changesFromBody,
  changesFromMessage,
  changesToMessage,
  definitionFromBody,
  definitionFromMessage,
  definitionToMessage,
} from './definition.ts';
import { agentGroups, camelCase, fieldEntries } from './fields.ts';
import { agentChangesShape, newAgentShape } from './schemas.ts';

const repository = fileURLToPath(new URL('../../../../', import.meta.url));
const newAgent = z.strictObject(newAgentShape);
const agentChanges = z.strictObject(agentChangesShape);
const required = { name: 'Sales', system_prompt: 'Be brief.', data_scope: {} };

test('absent fields have the same defaults in a body and in a message', () => {
  const definition = definitionFromBody(newAgent.parse(required));
  for (const entry of fieldEntries) if (entry.default !== undefined) expect(definition[entry.key]).toEqual(entry.default);
  expect(definitionFromMessage({ name: 'Sales', systemPrompt: 'Be brief.', dataScope: null })).toEqual(definition);
  expect(definitionFromMessage(definitionToMessage(definition))).toEqual(definition);
});

test('a patch keeps what is absent and returns null to the default, for a field and for its group', () => {
  const changesOf = (body: object) => changesFromBody(agentChanges.parse(body));
  expect(changesOf({})).toEqual({});
  expect(changesOf({ output_preferences: { chart_enabled: true } })).toEqual({ chartEnabled: true });
  expect(changesOf({ output_preferences: null, model: null })).toEqual({ defaultFormat: 'markdown', chartEnabled: false, model: 'Fast' });
  const cleared = changesOf({ suggested_prompts: null, data_scope: { tables: [] } });
  expect(cleared).toEqual({ suggestedPrompts: [], tables: [] });
  expect(changesToMessage(cleared)).toEqual({ suggestedPrompts: { values: [] }, dataScope: { tables: { values: [] } } });
  expect(changesFromMessage(changesToMessage(cleared))).toEqual(cleared);
  expect(changesFromMessage({ dataScope: null, suggestedPrompts: null })).toEqual({});
});

test('a name outside the allowed ones is refused with its path', () => {
  expect(() => definitionFromMessage({ model: 'Huge' })).toThrow(expect.objectContaining({ code: 'invalid_request', param: 'model' }));
  expect(() => changesFromMessage({ outputPreferences: { defaultFormat: 'pdf' } })).toThrow(
    expect.objectContaining({ param: 'output_preferences.default_format' }),
  );
});

describe('the protos have every field', () => {
  const file = join(repository, 'proto/agentservice/v1/agents.proto');
  const loaded = loadSync(file, { includeDirs: [join(repository, 'proto')] });
  const fieldsOf = (name: string) => {
    const { field } = (loaded[`agentservice.v1.${name}`] as MessageTypeDefinition<object, object>).type as {
      field: { name: string; typeName: string }[];
    };
    return new Map(field.map((one) => [camelCase(one.name), one.typeName]));
  };

  test.each(['Agent', 'CreateAgentRequest', 'UpdateAgentRequest'])('%s', (message) => {
    const top = fieldsOf(message);
    for (const { key, group } of fieldEntries) {
      const holder = group === undefined ? top : fieldsOf(top.get(camelCase(group))?.split('.').at(-1) ?? '');
      expect([...holder.keys()]).toContain(key);
    }
    for (const group of Object.keys(agentGroups)) expect([...top.keys()]).toContain(camelCase(group));
  });
});

test('a field stands in at most six source files', () => {
  const sources = ['packages', 'services']
    .flatMap((folder) => readdirSync(join(repository, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts') && !entry.name.endsWith('.test.ts'))
    .map((entry) => relative(repository, join(entry.parentPath, entry.name)))
    .filter((path) => path.includes('/src/') && !/node_modules|\/gen\/|\/testing\//.test(path));
  expect(sources.length).toBeGreaterThan(400);
  const naming = sources.filter((path) => /chart_enabled|chartEnabled/.test(readFileSync(join(repository, path), 'utf8')));
  expect(naming).toContain('packages/contracts/src/agents/fields.ts');
  if (naming.length > 6) throw new Error(`chart_enabled stands in ${naming.length} files:\n${naming.join('\n')}`);
});
