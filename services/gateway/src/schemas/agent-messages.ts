import { type Client, required } from '@agent-service/contracts';
import type { z } from 'zod';
import type { agent, agentSummary } from './agent.ts';
import type { agentChanges, newAgent } from './agent-body.ts';
import { defaults } from './agent-fields.ts';

type Agents = Client<'agents'>;
type AgentMessage = NonNullable<Awaited<ReturnType<Agents['getAgent']>>['agent']>;
type Summary = z.output<typeof agentSummary>;
type SummaryMessage = Pick<AgentMessage, 'id' | 'name' | 'description' | 'category' | 'status' | 'model' | 'createdAt' | 'updatedAt'>;

/** An agent as a list returns it, as callers see it. */
export const toAgentSummary = (message: SummaryMessage): Summary => ({
  id: message.id,
  name: message.name,
  description: message.description,
  category: message.category,
  status: message.status as Summary['status'],
  model: message.model as Summary['model'],
  created_at: message.createdAt,
  updated_at: message.updatedAt,
});

export function toAgent(message: AgentMessage): z.output<typeof agent> {
  const scope = required(message.dataScope);
  const output = required(message.outputPreferences);
  return {
    ...toAgentSummary(message),
    system_prompt: message.systemPrompt,
    data_scope: { tables: scope.tables, read_only: scope.readOnly },
    output_preferences: {
      default_format: output.defaultFormat as z.output<typeof agent>['output_preferences']['default_format'],
      chart_enabled: output.chartEnabled,
    },
    welcome_message: message.welcomeMessage,
    suggested_prompts: message.suggestedPrompts,
    created_by: message.createdBy,
    source_template_id: message.sourceTemplateId || null,
  };
}

export const fromNewAgent = (body: z.output<typeof newAgent>): Parameters<Agents['createAgent']>[0] => ({
  name: body.name,
  systemPrompt: body.system_prompt,
  dataScope: { tables: body.data_scope.tables, readOnly: body.data_scope.read_only },
  description: body.description,
  category: body.category,
  model: body.model,
  welcomeMessage: body.welcome_message,
  suggestedPrompts: body.suggested_prompts,
  outputPreferences: { defaultFormat: body.output_preferences.default_format, chartEnabled: body.output_preferences.chart_enabled },
});

type Changes = z.output<typeof agentChanges>;
type UpdateRequest = Parameters<Agents['updateAgent']>[0];

/** What a patch says, in full: absent fields stay absent, and null has become the default that it stands for. */
export function fromChanges(body: Changes): UpdateRequest {
  const { data_scope: scope, output_preferences: output } = body;
  const prompts = settled(body.suggested_prompts, defaults.suggested_prompts);
  return {
    ...named('name', body.name),
    ...named('systemPrompt', body.system_prompt),
    ...named('status', body.status),
    ...named('description', settled(body.description, defaults.description)),
    ...named('category', settled(body.category, defaults.category)),
    ...named('model', settled(body.model, defaults.model)),
    ...named('welcomeMessage', settled(body.welcome_message, defaults.welcome_message)),
    ...(prompts && { suggestedPrompts: { values: prompts } }),
    ...(scope && { dataScope: scopeChanges(scope) }),
    ...(output !== undefined && { outputPreferences: outputChanges(output ?? { default_format: null, chart_enabled: null }) }),
  };
}

function scopeChanges({ tables, read_only }: NonNullable<Changes['data_scope']>): NonNullable<UpdateRequest['dataScope']> {
  const values = settled(tables, defaults.tables);
  return { ...(values && { tables: { values } }), ...named('readOnly', settled(read_only, defaults.read_only)) };
}

const outputChanges = ({
  default_format,
  chart_enabled,
}: NonNullable<Changes['output_preferences']>): NonNullable<UpdateRequest['outputPreferences']> => ({
  ...named('defaultFormat', settled(default_format, defaults.default_format)),
  ...named('chartEnabled', settled(chart_enabled, defaults.chart_enabled)),
});

/** Null stands for the default. */
const settled = <T, F>(value: T | null | undefined, fallback: F): T | F | undefined => (value === null ? fallback : value);

/** The wire tells a field that is absent from one that is undefined. */
const named = <Name extends string, T>(name: Name, value: T | undefined): { [_ in Name]?: T } =>
  (value === undefined ? {} : { [name]: value }) as { [_ in Name]?: T };
