import { fieldEntries } from '@agent-service/contracts/agents/fields';
import type { Store } from '@agent-service/store';
import { type EntityManager, type InferEntity, LockMode, type RequiredEntityData } from '@agent-service/store/entities';
import type { Tenant } from '../../shared/tenant.ts';
import type { Agent } from '../domain/agent.ts';
import { fold, gramsOf } from '../domain/search.ts';
import { AgentEntity, DeletedAgentEntity } from './entities.ts';

type AgentRow = InferEntity<typeof AgentEntity>;

const keyOf = ({ organizationId, environment }: Tenant, id: string) => ({ organizationId, environment, id });
const locked = { lockMode: LockMode.PESSIMISTIC_WRITE } as const;

const definitionOf = (from: object): object => Object.fromEntries(fieldEntries.map(({ key }) => [key, from[key as never]]));

const toAgent = (row: AgentRow): Agent =>
  ({
    ...definitionOf(row),
    id: row.id,
    status: row.status,
    createdBy: row.createdBy,
    sourceTemplateId: row.sourceTemplateId,
    version: row.version,
    createdAt: row.createdAt.getTime(),
    updatedAt: row.updatedAt.getTime(),
  }) as Agent;

export const findAgent = (store: Store, tenant: Tenant, id: string): Promise<Agent | undefined> =>
  store.read(async (em) => {
    const row = await em.findOne(AgentEntity, keyOf(tenant, id));
    return row ? toAgent(row as AgentRow) : undefined;
  });

/** Locks the agent against changes and deletion until the transaction ends. */
export async function lockAgent(em: EntityManager, tenant: Tenant, id: string): Promise<Agent | undefined> {
  const row = await em.findOne(AgentEntity, keyOf(tenant, id), locked);
  return row ? toAgent(row as AgentRow) : undefined;
}

/** The agent that a template was activated as, locked until the transaction ends. */
export async function lockTemplateAgent(
  em: EntityManager,
  { organizationId, environment }: Tenant,
  activatedTemplateId: string,
): Promise<Agent | undefined> {
  const row = await em.findOne(AgentEntity, { organizationId, environment, activatedTemplateId }, locked);
  return row ? toAgent(row as AgentRow) : undefined;
}

/** One for each activated template at most. */
export const listTemplateAgents = (store: Store, { organizationId, environment }: Tenant) =>
  store.read(async (em) => {
    const rows = await em.find(
      AgentEntity,
      { organizationId, environment, activatedTemplateId: { $ne: null } },
      { fields: ['activatedTemplateId', 'status'] },
    );
    return rows.map(({ id, activatedTemplateId, status }) => ({ templateId: activatedTemplateId ?? '', agentId: id, status }));
  });

/** The columns of the search. */
function searchColumns(tenant: Tenant, { name, description }: Agent) {
  const [foldedName, foldedDescription] = [fold(name), fold(description)];
  return { foldedName, foldedDescription, grams: gramsOf(tenant, foldedName, foldedDescription) };
}

const changingColumns = (agent: Agent) => ({
  ...definitionOf(agent),
  status: agent.status,
  version: agent.version,
  updatedAt: new Date(agent.updatedAt),
});

/** False when the template has been activated as another agent. */
export async function insertAgent(em: EntityManager, tenant: Tenant, agent: Agent, activatedTemplateId?: string): Promise<boolean> {
  const row = {
    ...keyOf(tenant, agent.id),
    ...changingColumns(agent),
    ...searchColumns(tenant, agent),
    createdBy: agent.createdBy,
    sourceTemplateId: agent.sourceTemplateId,
    createdAt: new Date(agent.createdAt),
    activatedTemplateId: activatedTemplateId ?? null,
  } as RequiredEntityData<AgentRow>;
  const { affectedRows } = await em.createQueryBuilder(AgentEntity).insert(row).onConflict().ignore().execute('run');
  return affectedRows === 1;
}

/** Updates an agent that this transaction has locked. */
export async function updateAgent(em: EntityManager, tenant: Tenant, agent: Agent, before: Agent): Promise<void> {
  const isRenamed = agent.name !== before.name || agent.description !== before.description;
  const columns = { ...changingColumns(agent), ...(isRenamed && searchColumns(tenant, agent)) };
  await em.nativeUpdate(AgentEntity, keyOf(tenant, agent.id), columns as Partial<AgentRow>);
}

/** A sweep removes the conversations later. */
export async function deleteAgent(em: EntityManager, tenant: Tenant, id: string, at: number): Promise<void> {
  await em.nativeDelete(AgentEntity, keyOf(tenant, id));
  await em.insert(DeletedAgentEntity, { ...keyOf(tenant, id), deletedAt: new Date(at) });
}
