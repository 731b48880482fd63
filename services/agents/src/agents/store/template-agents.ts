import type { Sql } from '@agent-service/store';
import type { Tenant } from '../../shared/tenant.ts';
import type { Agent } from '../domain/agent.ts';
import { type AgentRow, agentColumns, toAgent } from './agents.ts';

export interface TemplateAgentRow {
  readonly templateId: string;
  readonly agentId: string;
  readonly status: Agent['status'];
}

/** The agent that stands for the template, and nobody else changes or deletes it until this transaction ends. */
export async function lockTemplateAgent(sql: Sql, tenant: Tenant, templateId: string): Promise<Agent | undefined> {
  const [row] = await sql<AgentRow>(
    `select ${agentColumns} from agents where organization_id = $1 and environment = $2 and activated_template_id = $3 for update`,
    [tenant.organizationId, tenant.environment, templateId],
  );
  return row && toAgent(row);
}

/** All that stand for a template: as many as there have been templates at the most. */
export const listTemplateAgents = (sql: Sql, tenant: Tenant): Promise<TemplateAgentRow[]> =>
  sql<TemplateAgentRow>(
    `select activated_template_id as "templateId", id as "agentId", status from agents
     where organization_id = $1 and environment = $2 and activated_template_id is not null`,
    [tenant.organizationId, tenant.environment],
  );
