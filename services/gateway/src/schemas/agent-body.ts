import { z } from 'zod';
import {
  agentName,
  agentStatus,
  category,
  chartEnabled,
  defaults,
  description,
  outputFormat,
  readOnly,
  suggestedPrompts,
  systemPrompt,
  tables,
  tier,
  welcomeMessage,
} from './agent-fields.ts';

/** A field that goes back to its default when it is set to null. */
const clearable = <Field extends z.ZodType>(field: Field) => field.nullable().optional();

const example = { data_scope: { tables: ['orders(id, total)', 'customers'], read_only: true } };

export const newAgent = z.strictObject({
  name: agentName,
  system_prompt: systemPrompt,
  data_scope: z
    .strictObject({ tables: tables.default(defaults.tables), read_only: readOnly.default(defaults.read_only) })
    .meta({ example: example.data_scope }),
  description: description.default(defaults.description),
  category: category.default(defaults.category),
  model: tier.default(defaults.model),
  welcome_message: welcomeMessage.default(defaults.welcome_message),
  suggested_prompts: suggestedPrompts.default(defaults.suggested_prompts),
  output_preferences: z
    .strictObject({
      default_format: outputFormat.default(defaults.default_format),
      chart_enabled: chartEnabled.default(defaults.chart_enabled),
    })
    .prefault({})
    .meta({ example: { default_format: 'markdown', chart_enabled: false } }),
});

/** A merge patch (RFC 7396): what is absent stays, null goes back to the default where a field has one. */
export const agentChanges = z.strictObject({
  name: agentName.optional(),
  system_prompt: systemPrompt.optional(),
  data_scope: z
    .strictObject({ tables: clearable(tables), read_only: clearable(readOnly) })
    .optional()
    .meta({ example: example.data_scope }),
  description: clearable(description),
  category: clearable(category),
  model: clearable(tier),
  welcome_message: clearable(welcomeMessage),
  suggested_prompts: clearable(suggestedPrompts),
  output_preferences: clearable(z.strictObject({ default_format: clearable(outputFormat), chart_enabled: clearable(chartEnabled) })),
  status: agentStatus.optional(),
});
