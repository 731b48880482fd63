import type { Tenant } from '@agent-service/contracts';
import { type AgentDefinition, type FieldEntry, fieldEntries, tiers } from '@agent-service/contracts/agents/fields';
import { foldCase } from '@agent-service/contracts/strings';
import type { Parameters, Sql, Store } from '@agent-service/store';
import {
  defineEntity,
  type EntityManager,
  environment,
  type InferEntity,
  LockMode,
  migratedIndex,
  p,
  type RequiredEntityData,
  texts,
  timestamp,
} from '@agent-service/store/entities';
import { z } from 'zod';
import { type Agent, type CountChange, gramsOf } from '../domain/agent.ts';

/**
 * The column of a field, with the field's default: processes of the version before insert rows without a new column. Throws for a kind of
 * value that no column here stores and reads back unchanged.
 */
export function columnOf(entry: Pick<FieldEntry, 'name' | 'input' | 'default'>): object {
  const column = kindOf(entry);
  return entry.default === undefined ? column : column.default(entry.default as never);
}

function kindOf({ name, input }: Pick<FieldEntry, 'name' | 'input'>) {
  if (name === 'model') return p.enum([...tiers]);
  if (input instanceof z.ZodString || input instanceof z.ZodEnum) return p.text();
  if (input instanceof z.ZodBoolean) return p.boolean();
  if (input instanceof z.ZodArray && input.element instanceof z.ZodString) return texts();
  if (input instanceof z.ZodNumber && input.format === 'int32') return p.integer();
  if (input instanceof z.ZodNumber && input.format === null) return p.double();
  throw new Error(
    `columnOf has no column for the field ${name}: it knows texts, names, booleans, lists of texts, z.int32() and z.number().`,
  );
}

interface Columns {
  text: ReturnType<typeof p.text>;
  boolean: ReturnType<typeof p.boolean>;
  number: ReturnType<typeof p.integer>;
  list: ReturnType<typeof texts>;
}
type ColumnOf<Value> = Value extends boolean
  ? Columns['boolean']
  : Value extends number
    ? Columns['number']
    : Value extends readonly string[]
      ? Columns['list']
      : Columns['text'];

/** A column for each field of a definition, under the field's own name. */
const definitionColumns = Object.fromEntries(fieldEntries.map((entry) => [entry.key, columnOf(entry)])) as unknown as {
  [Key in keyof AgentDefinition]: ColumnOf<AgentDefinition[Key]>;
};

export const AgentEntity = defineEntity({
  name: 'Agent',
  tableName: 'agents',
  indexes: [
    'agents_listed_index',
    'agents_status_index',
    'agents_category_hash_index',
    'agents_category_hash_status_index',
    'agents_grams_index',
    'agents_activated_template_index',
  ].map(migratedIndex),
  checks: [
    { name: 'agents_version_check', property: 'version', expression: 'version > 0' },
    { name: 'agents_activated_template_id_check', property: 'activatedTemplateId', expression: "activated_template_id <> ''" },
  ],
  properties: {
    organizationId: p.text().primary(),
    environment: environment().primary(),
    id: p.text().primary(),
    ...definitionColumns,
    status: p.enum(['draft', 'active', 'inactive'] as const),
    createdBy: p.text(),
    sourceTemplateId: p.text().default(''),
    /** Set on the agent that a template was activated as; copies of a template have sourceTemplateId alone. */
    activatedTemplateId: p.text().nullable(),
    version: p.integer(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
    foldedName: p.text().lazy(),
    foldedDescription: p.text().lazy(),
    grams: p.array<number>().columnType('integer[]').lazy(),
  },
});

const counterKey = () => ({ organizationId: p.text().primary(), environment: p.text().primary() });
const counter = () => p.bigint('number');
const checkOf = (table: string) => ({ name: `${table}_count_check`, property: 'count' as const, expression: 'count >= 0' });

/** Totals of the lists of agents. All agents of a status are one row, so that no total is a sum over categories. */
export const AgentCountEntity = defineEntity({
  name: 'AgentCount',
  tableName: 'agent_counts',
  checks: [checkOf('agent_counts')],
  properties: { ...counterKey(), status: p.text().primary(), count: counter() },
});

export const AgentCategoryCountEntity = defineEntity({
  name: 'AgentCategoryCount',
  tableName: 'agent_category_counts',
  checks: [checkOf('agent_category_counts')],
  properties: { ...counterKey(), category: p.text().primary(), status: p.text().primary(), count: counter() },
});

/** An agent that callers no longer see, while its conversations are being removed. */
export const DeletedAgentEntity = defineEntity({
  name: 'DeletedAgent',
  tableName: 'deleted_agents',
  indexes: [{ name: 'deleted_agents_due_index', properties: ['due'] }],
  properties: {
    organizationId: p.text().primary(),
    environment: p.text().primary(),
    id: p.text().primary(),
    deletedAt: timestamp(),
    due: timestamp().defaultRaw('now()'),
  },
});

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
export const selectTemplateAgents = (store: Store, { organizationId, environment }: Tenant) =>
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
  const [foldedName, foldedDescription] = [foldCase(name), foldCase(description)];
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

/** Saves the change of an agent that this transaction has locked. */
export async function saveAgent(em: EntityManager, tenant: Tenant, agent: Agent, before: Agent): Promise<void> {
  const isRenamed = agent.name !== before.name || agent.description !== before.description;
  const columns = { ...changingColumns(agent), ...(isRenamed && searchColumns(tenant, agent)) };
  await em.nativeUpdate(AgentEntity, keyOf(tenant, agent.id), columns as Partial<AgentRow>);
}

/** A sweep removes the conversations later. */
export async function removeAgent(em: EntityManager, tenant: Tenant, id: string, at: number): Promise<void> {
  await em.nativeDelete(AgentEntity, keyOf(tenant, id));
  await em.insert(DeletedAgentEntity, { ...keyOf(tenant, id), deletedAt: new Date(at) });
}

// Counters are locked in the order of their keys, so that two changes cannot deadlock. A counter that goes down has its row already: the
// insert then only needs a number that the column accepts, because the conflict replaces it.
const move = (table: string, key: string) => `
  with change as materialized (
    select ${key}, sum("by") as "by" from json_to_recordset($3::json) as item(category text, status text, "by" integer)
    group by ${key} having sum("by") <> 0)
  insert into ${table} as counted (organization_id, environment, ${key}, count)
  select $1, $2, ${key}, greatest("by", 0) from change order by ${key}
  on conflict (organization_id, environment, ${key}) do update
    set count = counted.count + (select change."by" from change where (${prefixColumns('change', key)}) = (${prefixColumns('excluded', key)}))`;

const prefixColumns = (name: string, key: string) => key.replaceAll(/\w+/g, (column) => `${name}.${column}`);

const moveStatuses = move('agent_counts', 'status');
const moveCategories = move('agent_category_counts', 'category, status');

// Categories come and go with their names. By ctid, after one look-up each: a join may read all counters of the tenant.
const forgetEmpty = `
  delete from agent_category_counts where count = 0 and ctid = any(array(
    select found.ctid from json_to_recordset($3::json) as item(category text, status text)
    cross join lateral (
      select ctid from agent_category_counts c where c.organization_id = $1 and c.environment = $2 and c.category = item.category
        and c.status = item.status limit 1) found))`;

const maxCountedLength = 128;

/** True if the category has a counter. The key of a counter has no room for 2,000 letters, which may be 8,000 bytes. */
export const isCounted = (category: string): boolean => [...category].length <= maxCountedLength;

/** Moves the counters in the transaction that moves the agents. */
export async function moveCounts(sql: Sql, { organizationId, environment }: Tenant, changes: readonly CountChange[]): Promise<void> {
  if (changes.length === 0) return;
  const valuesOf = (some: readonly CountChange[]) => [organizationId, environment, JSON.stringify(some)];
  await sql(moveStatuses, valuesOf(changes));
  const ofCategories = valuesOf(changes.filter(({ category }) => isCounted(category)));
  await sql(moveCategories, ofCategories);
  if (changes.some((change) => change.by < 0)) await sql(forgetEmpty, ofCategories);
}

export interface CountFilter {
  readonly category: string | undefined;
  readonly status: string;
}

/** The total of a list as a part of its own statement: a sum over three counters at most. */
export function totalOf({ category, status }: CountFilter, tenant: string, { add }: Parameters): string {
  const where = [tenant];
  if (category !== undefined) where.push(`category = ${add(category)}`);
  if (status !== '') where.push(`status = ${add(status)}`);
  const table = category === undefined ? 'agent_counts' : 'agent_category_counts';
  return `(select coalesce(sum(count), 0)::bigint from ${table} where ${where.join(' and ')})`;
}

export const countStatements = { moveStatuses, moveCategories, forgetEmpty };
