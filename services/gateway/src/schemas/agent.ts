import { z } from 'zod';
import { agentStatus, outputFormat, tier } from './agent-fields.ts';

const id = z.string().meta({ example: 'agt_01jz0000000000000000000000' });
const time = z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' });
const name = z.string().meta({ example: 'Sales assistant' });

export const agentParams = z.strictObject({ agent_id: id });

const summaryFields = {
  id,
  name,
  description: z.string().meta({ example: 'Answers questions about sales.' }),
  category: z.string().meta({ example: 'sales' }),
  status: agentStatus,
  model: tier,
  created_at: time,
  updated_at: time,
};

/** What a list shows of an agent. */
export const agentSummary = z.strictObject(summaryFields).meta({ id: 'AgentSummary' });

export const agent = z
  .strictObject({
    ...summaryFields,
    system_prompt: z.string().meta({ description: 'Instructions for the model.', example: 'You answer questions about sales.' }),
    data_scope: z.strictObject({
      tables: z.array(z.string()).meta({ description: 'What the agent can read.', example: ['orders(id, total)', 'customers'] }),
      read_only: z.boolean().meta({ example: true }),
    }),
    output_preferences: z.strictObject({ default_format: outputFormat, chart_enabled: z.boolean().meta({ example: false }) }),
    welcome_message: z.string().meta({ example: 'What do you want to know?' }),
    suggested_prompts: z.array(z.string()).meta({ example: ['How much did we sell last month?'] }),
    created_by: z.string().meta({ example: 'usr_01jz0000000000000000000000' }),
    source_template_id: z
      .string()
      .nullable()
      .meta({
        description: 'The template that the agent was made from. Beyond the specification.',
        example: null,
        override: { 'x-extension': true },
      }),
  })
  .meta({ id: 'Agent' });

export const createdAgent = z.strictObject({ id, name, status: agentStatus, created_at: time }).meta({ id: 'CreatedAgent' });

export const updatedAgent = z.strictObject({ id, name, status: agentStatus, model: tier, updated_at: time }).meta({ id: 'UpdatedAgent' });
