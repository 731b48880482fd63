import {
  type Call,
  callers,
  type FairLimiter,
  newId,
  type RpcOf,
  requirePrincipal,
  ServiceError,
  type Tenant,
  tenantOf,
} from '@agent-service/contracts';
import { changesFromMessage, definitionFromMessage, definitionToMessage } from '@agent-service/contracts/agents/definition';
import { agentStatuses } from '@agent-service/contracts/agents/fields';
import { isoTime, lastOf, limitOf, once, type Sql, type Transaction, writeAudit, writeEvents } from '@agent-service/store';
import { checkScope, type Sources } from '../../data-sources/index.ts';
import type { ServiceDeps } from '../../shared/deps.ts';
import {
  type Agent,
  type AgentChanges,
  type AgentEvent,
  type Counted,
  changeAgent,
  countChanges,
  createDraft,
  toAuditChanges,
  toEventData,
} from '../domain/agent.ts';
import { findAgent, insertAgent, lockAgent, moveCounts, removeAgent, saveAgent } from '../store/agents.ts';
import { type AgentFilter, readsMatches, type SummaryRow, selectAgents } from '../store/list-agents.ts';

export interface AgentsDeps extends ServiceDeps {
  readonly sources: Pick<Sources, 'catalogOf'>;
  /** Lists that may read every agent of an organization. */
  readonly longLists: FairLimiter;
  /** Ends the unfinished answers of a deleted agent in its transaction; the result is called after the commit. */
  readonly failAnswersOfAgent: (transaction: Transaction, tenant: Tenant, agentId: string) => Promise<() => void>;
}

interface AgentEffect {
  readonly tenant: Tenant;
  readonly event: AgentEvent;
  /** The status and category that the agent was counted under. */
  readonly before: Counted | undefined;
  readonly at: number;
}

/** Writes what belongs to the transaction of a change: counters, the audit entry and the event. */
export async function recordEffects(
  { eventRelay }: Pick<ServiceDeps, 'eventRelay'>,
  sql: Sql,
  call: Call,
  { tenant, event, before, at }: AgentEffect,
): Promise<void> {
  await moveCounts(sql, tenant, countChanges(before, event.type === 'agent.deleted' ? undefined : event.agent));
  await writeAudit(sql, call, {
    ...tenant,
    action: event.type,
    target: { type: 'agent', id: event.agent.id },
    changes: toAuditChanges(event),
  });
  if (!eventRelay) return;
  const data = { organization_id: tenant.organizationId, ...toEventData(event) };
  await writeEvents(sql, [{ ...tenant, type: event.type, createdAt: isoTime(at), data }]);
}

/** Called after the commit, so that the relays do not wait for their next poll. */
export function nudgeRelays({ auditRelay, eventRelay }: Pick<ServiceDeps, 'auditRelay' | 'eventRelay'>): void {
  auditRelay.nudge();
  eventRelay?.nudge();
}

export const createAgent = (deps: AgentsDeps): RpcOf<'agents', 'createAgent'> => ({
  allow: { ...callers({ scope: 'agents:write' }), services: ['gateway', 'templates'] },
  async handle(request, call) {
    const definition = definitionFromMessage(request);
    const { sourceTemplateId } = request;
    const tenant = tenantOf(call);
    // The caller adapts the tables of a duplicated template later.
    const refusal = sourceTemplateId === '' ? await refusalOfScope(deps, tenant, definition.tables) : undefined;
    const response = await once(deps.store, call, async ({ sql, em }) => {
      if (refusal !== undefined) throw refusal;
      const at = deps.now();
      const createdBy = requirePrincipal(call).userId;
      const agent = createDraft(definition, { id: newId('agt', at), createdBy, createdAt: at, sourceTemplateId });
      await insertAgent(em, tenant, agent);
      await recordEffects(deps, sql, call, { tenant, event: { type: 'agent.created', agent }, before: undefined, at });
      if (sourceTemplateId !== '') await recordDuplicate(sql, call, agent);
      return { agent: toAgentMessage(agent) };
    });
    nudgeRelays(deps);
    return response;
  },
});

/**
 * The refusal of the tables; undefined without one. The data source is asked outside of the transaction, and the refusal is thrown in
 * it: a repeat of a request that had its effect gets the outcome of then, although a table was renamed since.
 */
const refusalOfScope = ({ sources }: AgentsDeps, tenant: Tenant, tables: readonly string[] | undefined): Promise<unknown> =>
  checkScope(sources, tenant, tables).catch((cause: unknown) => cause);

const recordDuplicate = (sql: Sql, call: Call, { id, name, sourceTemplateId }: Agent): Promise<void> =>
  writeAudit(sql, call, {
    ...tenantOf(call),
    action: 'template.duplicated',
    target: { type: 'template', id: sourceTemplateId },
    changes: { agent_id: id, name },
  });

export const updateAgent = (deps: AgentsDeps): RpcOf<'agents', 'updateAgent'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle(request, call) {
    const changes = fromUpdateRequest(request);
    const refusal = await refusalOfScope(deps, tenantOf(call), changes.tables);
    const response = await once(deps.store, call, async (transaction) => {
      if (refusal !== undefined) throw refusal;
      const before = await lockIntended(transaction.em, tenantOf(call), request.agentId, request.ifVersions);
      return { agent: toAgentMessage(await applyChanges(deps, transaction, call, before, changes)) };
    });
    nudgeRelays(deps);
    return response;
  },
});

/** Changes an agent that the transaction has locked. */
export async function applyChanges(
  deps: AgentsDeps,
  { sql, em }: Transaction,
  call: Call,
  before: Agent,
  changes: AgentChanges,
): Promise<Agent> {
  const [tenant, at] = [tenantOf(call), deps.now()];
  const outcome = changeAgent(before, changes, at);
  if (outcome.kind === 'refused')
    throw new ServiceError('invalid_status_transition', {
      message: `An agent that is ${outcome.from} cannot become ${outcome.to}.`,
      param: 'status',
      details: { from: outcome.from, to: outcome.to },
    });
  const { agent, fields } = outcome;
  if (fields.length === 0) return before;
  await saveAgent(em, tenant, agent, before);
  await recordEffects(deps, sql, call, { tenant, event: { type: 'agent.updated', agent, fields }, before, at });
  return agent;
}

/** Locks an agent in a version that the caller means, from If-Match. An empty list stands for every version. */
async function lockIntended(em: Transaction['em'], tenant: Tenant, agentId: string, ifVersions: readonly number[]): Promise<Agent> {
  const agent = await lockAgent(em, tenant, agentId);
  if (!agent) throw new ServiceError('not_found');
  if (ifVersions.length > 0 && !ifVersions.includes(agent.version)) throw new ServiceError('precondition_failed');
  return agent;
}

/** Callers no longer see the agent after the commit. A sweep removes its conversations; usage records stay. */
export const deleteAgent = (deps: AgentsDeps): RpcOf<'agents', 'deleteAgent'> => ({
  allow: callers({ scope: 'agents:write' }),
  async handle({ agentId, ifVersions }, call) {
    const tenant = tenantOf(call);
    let afterCommit: (() => void) | undefined;
    await once(deps.store, call, async (transaction) => {
      const { sql, em } = transaction;
      const agent = await lockIntended(em, tenant, agentId, ifVersions);
      const at = deps.now();
      await removeAgent(em, tenant, agentId, at);
      await recordEffects(deps, sql, call, { tenant, event: { type: 'agent.deleted', agent, deletedAt: at }, before: agent, at });
      afterCommit = await deps.failAnswersOfAgent(transaction, tenant, agentId);
      return {};
    });
    afterCommit?.();
    nudgeRelays(deps);
    return {};
  },
});

export const getAgent = ({ store }: ServiceDeps): RpcOf<'agents', 'getAgent'> => ({
  // The gateway checks with the second scope that an agent exists.
  allow: callers({ scope: ['agents:read', 'agents:chat'] }),
  async handle({ agentId }, call) {
    const agent = await findAgent(store, tenantOf(call), agentId);
    if (!agent) throw new ServiceError('not_found');
    return { agent: toAgentMessage(agent) };
  },
});

export const listAgents = ({ store, cursors, longLists }: AgentsDeps): RpcOf<'agents', 'listAgents'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ page, category, status, search }, call) {
    const filter: AgentFilter = { tenant: tenantOf(call), category, status, search };
    const limit = limitOf(page);
    const binding = bindingOf(filter);
    const start = cursors.decode(binding, page?.cursor ?? '');
    const read = () => selectAgents(store.sql, filter, limit, start);
    const { rows, total } = await (readsMatches(filter) ? longLists.run(filter.tenant.organizationId, read, call.signal) : read());
    const last = lastOf(rows, limit);
    // A search with many matches is not counted again for its next page.
    const searchTotal = search === '' ? {} : { total };
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id], ...searchTotal }) : '';
    return { agents: rows.slice(0, limit).map(toSummary), page: { total, nextCursor } };
  },
});

/** A cursor is valid for the tenant and the filters that it was made for. */
const bindingOf = ({ tenant: { organizationId, environment }, category, status, search }: AgentFilter): readonly unknown[] => [
  'agents',
  organizationId,
  environment,
  category ?? null,
  status,
  search,
];

const toSummary = ({ createdAt, updatedAt, ...row }: SummaryRow) => ({
  ...row,
  createdAt: isoTime(createdAt),
  updatedAt: isoTime(updatedAt),
});

type UpdateRequest = Parameters<RpcOf<'agents', 'updateAgent'>['handle']>[0];

export const toAgentMessage = (agent: Agent) => ({
  ...definitionToMessage(agent),
  id: agent.id,
  status: agent.status,
  createdAt: isoTime(agent.createdAt),
  updatedAt: isoTime(agent.updatedAt),
  createdBy: agent.createdBy,
  sourceTemplateId: agent.sourceTemplateId,
  version: agent.version,
});

function fromUpdateRequest(request: UpdateRequest): AgentChanges {
  const status = agentStatuses.find((name) => name === request.status);
  if (request.status !== undefined && status === undefined)
    throw new ServiceError('invalid_request', { message: `status must be one of ${agentStatuses.join(', ')}.`, param: 'status' });
  return { ...changesFromMessage(request), status };
}
