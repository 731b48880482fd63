import type { ChangedField } from './change.ts';

/** Where callers of the API find a field of an agent. */
const paths: Readonly<Record<ChangedField, string>> = {
  name: 'name',
  description: 'description',
  category: 'category',
  status: 'status',
  model: 'model',
  systemPrompt: 'system_prompt',
  tables: 'data_scope.tables',
  readOnly: 'data_scope.read_only',
  defaultFormat: 'output_preferences.default_format',
  chartEnabled: 'output_preferences.chart_enabled',
  welcomeMessage: 'welcome_message',
  suggestedPrompts: 'suggested_prompts',
};

export const allFields = Object.keys(paths) as ChangedField[];

export const pathOf = (field: ChangedField): string => paths[field];

/** The top-level fields that these belong to, each once. */
export const topLevel = (fields: readonly ChangedField[]): string[] => [
  ...new Set(fields.map((field) => paths[field].replace(/\..*/, ''))),
];
