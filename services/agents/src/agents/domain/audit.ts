import type { Agent } from './agent.ts';
import type { ChangedField } from './change.ts';
import { pathOf } from './field-names.ts';

/** What is told to a model may hold anything: that it changed is recorded, never to what. */
const masked: readonly ChangedField[] = ['systemPrompt', 'suggestedPrompts'];

/** Fields of an agent as the audit log keeps them. */
export const auditedFields = (agent: Agent, fields: readonly ChangedField[]): Record<string, unknown> =>
  Object.fromEntries(fields.map((field) => [pathOf(field), masked.includes(field) ? '***' : agent[field]]));
