import fc from 'fast-check';
import { type Agent, type Definition, draft, statuses, tiers } from '../agent.ts';
import type { Changes } from '../change.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
const few = fc.array(text, { maxLength: 3 });

const fields = {
  name: text,
  description: text,
  category: fc.constantFrom('', 'sales', 'finance'),
  model: fc.constantFrom(...tiers),
  systemPrompt: text,
  tables: few,
  readOnly: fc.boolean(),
  defaultFormat: fc.constantFrom('markdown', 'table'),
  chartEnabled: fc.boolean(),
  welcomeMessage: text,
  suggestedPrompts: few,
};

export const definitions: fc.Arbitrary<Definition> = fc.record(fields);

export const agents: fc.Arbitrary<Agent> = fc
  .tuple(definitions, fc.constantFrom(...statuses), fc.nat(1_000), fc.integer({ min: 1, max: 50 }))
  .map(([definition, status, createdAt, version]) => ({
    ...draft(definition, { id: 'agt_1', createdBy: 'usr_1', createdAt }),
    status,
    version,
  }));

export const changes: fc.Arbitrary<Changes> = fc.record({ ...fields, status: fc.constantFrom(...statuses) }, { requiredKeys: [] });
