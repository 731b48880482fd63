import { parseTableScope } from '@agent-service/contracts';
import { z } from 'zod';
import { text } from './text.ts';

const maxPrompts = 5;
const maxTables = 200;
const longestText = 2_000;
const longestPrompt = 32_000;

/** What a field has that nobody set. */
export const defaults = {
  description: '',
  category: '',
  model: 'Fast',
  welcome_message: '',
  suggested_prompts: [] as string[],
  tables: [] as string[],
  read_only: true,
  default_format: 'markdown',
  chart_enabled: false,
} as const;

const example = {
  tables: ['orders(id, total, ordered_at)', 'customers'],
  prompt: 'You answer questions about sales in short sentences.',
  prompts: ['How much did we sell last month?'],
};

const tableScope = text(1, longestText).refine(
  (value) => parseTableScope(value) !== undefined,
  'must be a table, as orders, or a table with its columns, as orders(id, total)',
);

export const tier = z.enum(['Fast', 'Smart', 'Expert', 'Premium']).meta({ example: 'Fast' });
export const agentStatus = z.enum(['active', 'inactive', 'draft']).meta({ example: 'active' });
export const outputFormat = z.enum(['markdown', 'table', 'text', 'json']).meta({
  description: 'How answers are written: `text` has no markup, `json` is one fenced block in markdown.',
  example: 'markdown',
});

export const agentName = text(1, 100).meta({ example: 'Sales assistant' });
export const systemPrompt = text(1, longestPrompt).meta({ description: 'Instructions for the model.', example: example.prompt });
export const description = text(0, longestText).meta({ example: 'Answers questions about sales.' });
export const category = text(0, longestText).meta({ description: 'Free text, for filtering.', example: 'sales' });
export const welcomeMessage = text(0, longestText).meta({ example: 'What do you want to know about your sales?' });
export const suggestedPrompts = z.array(text(1, longestText)).max(maxPrompts).meta({ example: example.prompts });
export const tables = z.array(tableScope).max(maxTables).meta({
  description: 'What the agent can read: tables, or tables with their columns. None: no data.',
  example: example.tables,
});
export const readOnly = z.boolean().meta({ example: true });
export const chartEnabled = z.boolean().meta({
  description: 'Whether answers in `markdown` or `table` may hold fenced `vega-lite` blocks; `text` and `json` have no place for them.',
  example: false,
});
