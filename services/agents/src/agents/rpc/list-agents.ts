import { callers, type RpcOf } from '@agent-service/contracts';
import { isoTime } from '@agent-service/store';
import type { AgentsContext } from '../../context.ts';
import { tenantOf } from '../../shared/call-tenant.ts';
import { lastOf, limitOf } from '../../shared/paging.ts';
import { type AgentFilter, type SummaryRow, listAgents as selectAgents } from '../store/list-agents.ts';

export const listAgents = ({ store, cursors }: AgentsContext): RpcOf<'agents', 'listAgents'> => ({
  allow: callers({ scope: 'agents:read' }),
  async handle({ page, category, status, search }, call) {
    const filter: AgentFilter = { tenant: tenantOf(call), category, status, search };
    const limit = limitOf(page);
    const binding = bindingOf(filter);
    const start = cursors.decode(binding, page?.cursor ?? '');
    const { rows, total } = await selectAgents(store.sql, filter, limit, start);
    const last = lastOf(rows, limit);
    const counted = search === '' ? {} : { total };
    const nextCursor = last ? cursors.encode(binding, { after: [isoTime(last.createdAt), last.id], ...counted }) : '';
    return { agents: rows.slice(0, limit).map(toSummary), page: { total, nextCursor } };
  },
});

/** What a cursor of the list is bound to, so that it opens no other. */
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
