import { callers, type RpcOf, ServiceError } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { ServiceDeps } from '../../shared/deps.ts';
import { lastOf, limitOf } from '../../shared/paging.ts';
import { tenantOf } from '../../shared/tenant.ts';
import { findAgent } from '../store/agents.ts';
import { type AgentFilter, type SummaryRow, selectAgents } from '../store/list-agents.ts';
import { toAgentMessage } from './agent-message.ts';

export const getAgent = ({ store }: ServiceDeps): RpcOf<'agents', 'getAgent'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ agentId }, call) {
    const agent = await findAgent(store, tenantOf(call), agentId);
    if (!agent) throw new ServiceError('not_found');
    return { agent: toAgentMessage(agent) };
  },
});

export const listAgents = ({ store, cursors }: ServiceDeps): RpcOf<'agents', 'listAgents'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ page, category, status, search }, call) {
    const filter: AgentFilter = { tenant: tenantOf(call), category, status, search };
    const limit = limitOf(page);
    const binding = bindingOf(filter);
    const start = cursors.decode(binding, page?.cursor ?? '');
    const { rows, total } = await selectAgents(store.sql, filter, limit, start);
    const last = lastOf(rows, limit);
    // The total of a search is counted for its first page only.
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
