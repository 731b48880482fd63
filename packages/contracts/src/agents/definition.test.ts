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
  workerFieldsToMessage,
} from './definition.ts';
import { agentGroups, camelCase, type FieldEntry, fieldEntries, workerEntries } from './fields.ts';
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

test('workers get the fields that name them, in the groups of the other messages', () => {
  const definition = definitionFromBody(newAgent.parse({ ...required, data_scope: { tables: ['orders'] } }));
  expect(workerFieldsToMessage(definition)).toEqual({
    systemPrompt: 'Be brief.',
    dataScope: { tables: ['orders'], readOnly: true },
    outputPreferences: { defaultFormat: 'markdown', chartEnabled: false },
  });
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

  function expectFields(message: string, entries: readonly FieldEntry[]): void {
    const top = fieldsOf(message);
    for (const { key, groupKey } of entries) {
      const holder = groupKey === undefined ? top : fieldsOf(top.get(groupKey)?.split('.').at(-1) ?? '');
      expect([...holder.keys()]).toContain(key);
    }
  }

  test.each(['Agent', 'CreateAgentRequest', 'UpdateAgentRequest'])('%s', (message) => {
    expectFields(message, fieldEntries);
    for (const group of Object.keys(agentGroups)) expect([...fieldsOf(message).keys()]).toContain(camelCase(group));
  });

  test('BegunAnswer, those that workers get', () => expectFields('BegunAnswer', workerEntries));
});

describe('the source files that name a field of a group which workers use, chart_enabled', () => {
  const paths = ['proto', 'packages', 'services']
    .flatMap((folder) => readdirSync(join(repository, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.(ts|tsx|proto)$/.test(entry.name) && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => relative(repository, join(entry.parentPath, entry.name)))
    .filter((path) => /\/(src|web)\/|^proto\//.test(path) && !/node_modules|\/gen\/|\/testing\//.test(path));
  const naming = paths.filter((path) => /chart_enabled|chartEnabled/.test(readFileSync(join(repository, path), 'utf8'))).sort();
  const isOfPortal = (path: string) => path.startsWith('services/portal/');
  const isMigration = (path: string) => path.startsWith('services/agents/src/store/migrations/');

  test('are three beside its migration and the index of migrations: the definition, the proto and the use in the worker', () => {
    expect(naming.filter(isMigration)).toContain('services/agents/src/store/migrations/0001-agents.ts');
    expect(naming.filter((path) => !isOfPortal(path) && !isMigration(path))).toEqual([
      'packages/contracts/src/agents/fields.ts',
      'proto/agentservice/v1/agents.proto',
      'services/answer-worker/src/jobs/ask-model.ts',
    ]);
  });

  test('are two more where the pages of the portal show and edit it', () => {
    expect(naming.filter(isOfPortal)).toEqual([
      'services/portal/web/src/pages/agents/agent.tsx',
      'services/portal/web/src/pages/agents/edit-agent.tsx',
    ]);
  });
});
