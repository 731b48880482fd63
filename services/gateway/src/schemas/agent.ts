import type { Client } from '@agent-service/contracts';
import {
  changesFromBody,
  changesToMessage,
  definitionFromBody,
  definitionToMessage,
  detailsFromMessage,
} from '@agent-service/contracts/agents/definition';
import { agentFields, agentStatuses } from '@agent-service/contracts/agents/fields';
import { agentChangesShape, detailShape, listedShape, newAgentShape } from '@agent-service/contracts/agents/schemas';
import { z } from 'zod';

const id = z.string().meta({ example: 'agt_01jz0000000000000000000000' });
const time = z.iso.datetime().meta({ example: '2026-01-31T10:00:00.000Z' });
/** An active agent was changed after its creation. */
const changeTime = time.meta({ example: '2026-01-31T10:05:00.000Z' });

export const agentStatus = z.enum(agentStatuses).meta({ example: 'active' });
export const agentName = agentFields.name.input;
export const agentDescription = agentFields.description.input;
export const tier = agentFields.model.input;

export const agentParams = z.strictObject({ agent_id: id });
export const newAgent = z.strictObject(newAgentShape);
export const agentChanges = z.strictObject({ ...agentChangesShape, status: agentStatus.optional() });

const { name, description, category, model } = listedShape;
const summaryFields = { id, name, description, category, status: agentStatus, model, created_at: time, updated_at: changeTime };

/** An agent in a list. */
export const agentSummary = z.strictObject(summaryFields).meta({ id: 'AgentSummary' });

export const agent = z
  .strictObject({
    ...summaryFields,
    ...detailShape,
    created_by: z.string().meta({ example: 'usr_01jz0000000000000000000000' }),
    source_template_id: z.string().nullable().meta({
      description: 'The template that the agent was made from. Beyond the specification.',
      example: null,
      'x-extension': true,
    }),
  })
  .meta({ id: 'Agent' });

export const createdAgent = z
  .strictObject({ id, name, status: agentStatus.meta({ example: 'draft' }), created_at: time })
  .meta({ id: 'CreatedAgent' });

export const updatedAgent = z.strictObject({ id, name, status: agentStatus, model, updated_at: changeTime }).meta({ id: 'UpdatedAgent' });

type Agents = Client<'agents'>;
type AgentMessage = NonNullable<Awaited<ReturnType<Agents['getAgent']>>['agent']>;
type SummaryMessage = Awaited<ReturnType<Agents['listAgents']>>['agents'][number];
type Summary = z.output<typeof agentSummary>;

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

export const toAgent = (message: AgentMessage): z.output<typeof agent> => ({
  ...toAgentSummary(message),
  ...detailsFromMessage(message),
  created_by: message.createdBy,
  source_template_id: message.sourceTemplateId || null,
});

export const fromNewAgent = (body: z.output<typeof newAgent>): Parameters<Agents['createAgent']>[0] =>
  definitionToMessage(definitionFromBody(body));

/** Absent fields stay absent, which the wire distinguishes from undefined. */
export const fromChanges = (body: z.output<typeof agentChanges>): Parameters<Agents['updateAgent']>[0] => ({
  ...changesToMessage(changesFromBody(body)),
  ...(body.status !== undefined && { status: body.status }),
});
