import type { Tenant } from '@agent-service/contracts';
import { foldCase } from '@agent-service/contracts/strings';
import type { Pool } from 'pg';
import { gramsOf } from '../src/agents/domain/agent.ts';

export interface BulkAgent {
  name: string;
  description: string;
  category: string;
  status: string;
}

const atOnce = 2_000;

const insert = `
  insert into agents (organization_id, environment, id, name, description, category, status, model, system_prompt, tables, read_only,
    default_format, chart_enabled, welcome_message, suggested_prompts, created_by, version, created_at, updated_at, folded_name,
    folded_description, grams)
  select $1, $2, id, name, description, category, status, 'Fast', 'Answer.', '{orders}', true, 'markdown', false, '', '{}', 'usr_1', 1,
    created_at, created_at, folded_name, folded_description, array(select json_array_elements_text(grams)::integer)
  from json_to_recordset($3::json) as agent(id text, name text, description text, category text, status text, created_at timestamptz,
    folded_name text, folded_description text, grams json)`;

const count = `
  insert into agent_counts (organization_id, environment, status, count)
  select organization_id, environment, status, count(*) from agents where organization_id = $1 and environment = $2 group by 1, 2, 3`;
const countCategories = `
  insert into agent_category_counts (organization_id, environment, category, status, count)
  select organization_id, environment, category, status, count(*) from agents where organization_id = $1 and environment = $2 group by 1, 2, 3, 4`;

/** Many agents of a new tenant at once, one a second from the given time on, with everything that belongs to them. */
export async function loadAgents(database: Pool, tenant: Tenant, from: number, agents: readonly BulkAgent[]): Promise<void> {
  const key = [tenant.organizationId, tenant.environment];
  for (let first = 0; first < agents.length; first += atOnce) {
    const rows = agents.slice(first, first + atOnce).map((agent, n) => rowOf(tenant, agent, first + n, from));
    await database.query(insert, [...key, JSON.stringify(rows)]);
  }
  await database.query(count, key);
  await database.query(countCategories, key);
}

function rowOf(tenant: Tenant, agent: BulkAgent, n: number, from: number) {
  const [name, description] = [foldCase(agent.name), foldCase(agent.description)];
  return {
    ...agent,
    id: `agt_${String(n).padStart(26, '0')}`,
    created_at: new Date(from + n * 1_000).toISOString(),
    folded_name: name,
    folded_description: description,
    grams: gramsOf(tenant, name, description),
  };
}
