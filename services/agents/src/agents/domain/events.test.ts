import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { allFields, toAuditChanges, toEventData } from './events.ts';
import { agents } from './testing/agents.ts';

const secret = 'a prompt that only the model may see';

test('no audit entry and no event holds a prompt', () => {
  fc.assert(
    fc.property(agents, (plain) => {
      const agent = { ...plain, systemPrompt: secret, suggestedPrompts: [secret] };
      const events = [
        { type: 'agent.created', agent },
        { type: 'agent.updated', agent, fields: allFields },
        { type: 'agent.deleted', agent, deletedAt: 1 },
      ] as const;
      for (const event of events) expect(JSON.stringify([toAuditChanges(event), toEventData(event)])).not.toContain(secret);
      expect(toAuditChanges({ type: 'agent.updated', agent, fields: ['systemPrompt'] })).toEqual({ system_prompt: '***' });
    }),
  );
});

test('an update names the fields of the API, each once', () => {
  fc.assert(
    fc.property(agents, (agent) => {
      const changed = (fields: readonly (typeof allFields)[number][]) => toEventData({ type: 'agent.updated', agent, fields });
      expect(changed(['tables', 'readOnly', 'name'])['changed_fields']).toEqual(['data_scope', 'name']);
      const data = changed(['chartEnabled', 'status']);
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
