import type { Sql } from '@agent-service/store';
import type { Tenant } from '../../shared/tenant.ts';
import type { Agent } from '../domain/agent.ts';
import { fold, gramsOf } from '../domain/search.ts';

/** An agent as the driver hands it over. */
export type AgentRow = Omit<Agent, 'createdAt' | 'updatedAt'> & { readonly createdAt: string; readonly updatedAt: string };

export const agentColumns = `id, name, description, category, status, model, system_prompt as "systemPrompt", tables, read_only as "readOnly",
  default_format as "defaultFormat", chart_enabled as "chartEnabled", welcome_message as "welcomeMessage",
  suggested_prompts as "suggestedPrompts", created_by as "createdBy", source_template_id as "sourceTemplateId", version,
  created_at as "createdAt", updated_at as "updatedAt"`;

const mine = 'organization_id = $1 and environment = $2 and id = $3';

export const toAgent = (row: AgentRow): Agent => ({
  ...row,
  createdAt: new Date(row.createdAt).getTime(),
  updatedAt: new Date(row.updatedAt).getTime(),
});

const iso = (at: number) => new Date(at).toISOString();

export async function findAgent(sql: Sql, tenant: Tenant, id: string): Promise<Agent | undefined> {
  const [row] = await sql<AgentRow>(`select ${agentColumns} from agents where ${mine}`, [tenant.organizationId, tenant.environment, id]);
  return row && toAgent(row);
}

/** The agent, and nobody else changes or deletes it until this transaction ends. */
export async function lockAgent(sql: Sql, tenant: Tenant, id: string): Promise<Agent | undefined> {
  const [row] = await sql<AgentRow>(`select ${agentColumns} from agents where ${mine} for update`, [
    tenant.organizationId,
    tenant.environment,
    id,
  ]);
  return row && toAgent(row);
}

/** What follows from the texts for the search. */
function searched(tenant: Tenant, { name, description }: Agent): [name: string, description: string, grams: number[]] {
  const [foldedName, foldedDescription] = [fold(name), fold(description)];
  return [foldedName, foldedDescription, gramsOf(tenant, foldedName, foldedDescription)];
}

const settled = (agent: Agent): unknown[] => [
  agent.name,
  agent.description,
  agent.category,
  agent.status,
  agent.model,
  agent.systemPrompt,
  agent.tables,
  agent.readOnly,
  agent.defaultFormat,
  agent.chartEnabled,
  agent.welcomeMessage,
  agent.suggestedPrompts,
  agent.version,
  iso(agent.updatedAt),
];

/** False when another agent stands for the template already, as this one is to do. */
export async function insertAgent(sql: Sql, tenant: Tenant, agent: Agent, activatedTemplateId?: string): Promise<boolean> {
  const inserted = await sql(
    `insert into agents (organization_id, environment, id, name, description, category, status, model, system_prompt, tables, read_only,
       default_format, chart_enabled, welcome_message, suggested_prompts, version, updated_at, folded_name, folded_description, grams,
       created_by, source_template_id, created_at, activated_template_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24)
     on conflict (organization_id, environment, activated_template_id) where activated_template_id is not null do nothing
     returning id`,
    [
      tenant.organizationId,
      tenant.environment,
      agent.id,
      ...settled(agent),
      ...searched(tenant, agent),
      agent.createdBy,
      agent.sourceTemplateId,
      iso(agent.createdAt),
      activatedTemplateId ?? null,
    ],
  );
  return inserted.length > 0;
}

/** Writes what may change of an agent that this transaction has locked. Its grams only move with its texts. */
export async function updateAgent(sql: Sql, tenant: Tenant, agent: Agent, before: Agent): Promise<void> {
  await sql(
    `update agents set name = $4, description = $5, category = $6, status = $7, model = $8, system_prompt = $9, tables = $10,
       read_only = $11, default_format = $12, chart_enabled = $13, welcome_message = $14, suggested_prompts = $15, version = $16,
       updated_at = $17
     where ${mine}`,
    [tenant.organizationId, tenant.environment, agent.id, ...settled(agent)],
  );
  if (agent.name === before.name && agent.description === before.description) return;
  await sql(`update agents set folded_name = $4, folded_description = $5, grams = $6 where ${mine}`, [
    tenant.organizationId,
    tenant.environment,
    agent.id,
    ...searched(tenant, agent),
  ]);
}

/** Takes the agent away and leaves what belonged to it to the sweep. */
export async function deleteAgent(sql: Sql, tenant: Tenant, id: string, at: number): Promise<void> {
  await sql(
    `with gone as (delete from agents where ${mine})
     insert into deleted_agents (organization_id, environment, id, deleted_at) values ($1, $2, $3, $4)`,
    [tenant.organizationId, tenant.environment, id, iso(at)],
  );
}
