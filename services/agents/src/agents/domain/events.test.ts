import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { auditedFields } from './audit.ts';
import { dataOf } from './events.ts';
import { allFields, topLevel } from './field-names.ts';
import { agents } from './testing/agents.ts';

const secret = 'what the model is told';

test('no audit entry and no event holds what the model is told', () => {
  fc.assert(
    fc.property(agents, (plain) => {
      const agent = { ...plain, systemPrompt: secret, suggestedPrompts: [secret] };
      const told = [
        auditedFields(agent, allFields),
        dataOf({ type: 'agent.created', agent }),
        dataOf({ type: 'agent.updated', agent, fields: allFields }),
        dataOf({ type: 'agent.deleted', agent, deletedAt: 1 }),
      ];
      expect(JSON.stringify(told)).not.toContain(secret);
      expect(auditedFields(agent, ['systemPrompt'])).toEqual({ system_prompt: '***' });
    }),
  );
});

test('an update names the fields that callers know, each once', () => {
  expect(topLevel(['tables', 'readOnly', 'name'])).toEqual(['data_scope', 'name']);
  fc.assert(
    fc.property(agents, (agent) => {
      const data = dataOf({ type: 'agent.updated', agent, fields: ['chartEnabled', 'status'] });
      expect(data['changed_fields']).toEqual(['output_preferences', 'status']);
      expect(Object.keys(data['agent'] as object)).toEqual([
        'id',
        'name',
        'description',
        'category',
        'status',
        'model',
        'created_at',
        'updated_at',
      ]);
    }),
  );
});
