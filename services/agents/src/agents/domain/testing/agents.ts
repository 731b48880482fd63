import { type AgentDefinition, agentStatuses, type FieldEntry, fieldEntries } from '@agent-service/contracts/agents/fields';
import fc from 'fast-check';
import { z } from 'zod';
import { type Agent, type AgentChanges, createDraft } from '../agent.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 12 });

function valuesOf({ key, input, isList }: FieldEntry): fc.Arbitrary<unknown> {
  if (key === 'category') return fc.constantFrom('', 'sales', 'finance');
  if (isList) return fc.array(text, { maxLength: 3 });
  if (input instanceof z.ZodBoolean) return fc.boolean();
  return input instanceof z.ZodEnum ? fc.constantFrom(...input.options) : text;
}

const fields = Object.fromEntries(fieldEntries.map((entry) => [entry.key, valuesOf(entry)])) as {
  [Key in keyof AgentDefinition]: fc.Arbitrary<AgentDefinition[Key]>;
};

export const agents: fc.Arbitrary<Agent> = fc
  .tuple(fc.record(fields), fc.constantFrom(...agentStatuses), fc.nat(1_000), fc.integer({ min: 1, max: 50 }))
  .map(([definition, status, createdAt, version]) => ({
    ...createDraft(definition, { id: 'agt_1', createdBy: 'usr_1', createdAt }),
    status,
    version,
  }));

export const changes: fc.Arbitrary<AgentChanges> = fc.record(
  { ...fields, status: fc.constantFrom(...agentStatuses) },
  { requiredKeys: [] },
);
