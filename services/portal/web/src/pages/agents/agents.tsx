import type { AgentSummary } from '@agent-service/client';
import { Link, useSearch } from '@tanstack/react-router';
import { Bot, Plus, SearchX } from 'lucide-react';
import { api, bodyOf } from '../../api/client.ts';
import { useIsAdmin } from '../../api/session.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { Empty } from '../../ui/feedback.tsx';
import { Time } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, FilterSelect, SearchInput, Table, useCursorList } from '../../ui/table.tsx';
import { AgentMenu } from './agent-menu.tsx';
import { AgentStatus, statusOptions } from './agent-parts.tsx';

const pageSize = 25;

export function AgentsPage() {
  const environment = useEnvironment();
  const isAdmin = useIsAdmin();
  const { search, status } = useSearch({ strict: false });
  const filter = {
    ...(search && { search }),
    ...(status && { status: status as AgentSummary['status'] }),
  };
  const list = useCursorList([environment, 'agents', filter], (cursor) =>
    bodyOf(api(environment).GET('/v1/agents', { params: { query: { limit: pageSize, ...(cursor && { cursor }), ...filter } } })),
  );
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Page
      title="Agents"
      description="Assistants over your business data. Each has instructions, a model and the tables that it may read."
      actions={isAdmin && <NewAgent />}
    >
      <div className="filters">
        <SearchInput label="Search agents" />
        <FilterSelect name="status" label="Status" all="Every status" options={statusOptions} />
      </div>
      <Table
        label="Agents"
        columns={columns}
        rows={list.rows}
        isLoading={list.isLoading}
        rowKey={({ id }) => id}
        linked
        failure={list.failure}
        onRetry={list.refetch}
        actions={isAdmin ? agentActions : undefined}
        empty={
          isFiltered ? (
            <Empty icon={SearchX} title="No agent matches">
              Search for another word, or choose other filters.
            </Empty>
          ) : (
            <Empty
              icon={Bot}
              title="No agents yet"
              actions={
                isAdmin && (
                  <>
                    <ButtonLink to="/$environment/templates" params={{ environment }}>
                      Browse templates
                    </ButtonLink>
                    <NewAgent />
                  </>
                )
              }
            >
              {isAdmin
                ? 'Activate a template to get an agent that works at once, or create your own.'
                : 'An administrator has to make an agent active first.'}
            </Empty>
          )
        }
      />
      {list.pager}
    </Page>
  );
}

const agentActions = (agent: AgentSummary) => <AgentMenu agent={agent} />;

function NewAgent() {
  const environment = useEnvironment();
  return (
    <ButtonLink to="/$environment/agents/new" params={{ environment }} variant="primary" icon={Plus}>
      New agent
    </ButtonLink>
  );
}

const columns: Column<AgentSummary>[] = [
  { id: 'name', header: 'Agent', cell: (agent) => <NameCell agent={agent} /> },
  { id: 'status', header: 'Status', width: '7rem', cell: ({ status }) => <AgentStatus status={status} /> },
  { id: 'model', header: 'Model', width: '7rem', cell: ({ model }) => model },
  { id: 'category', header: 'Category', width: '9rem', cell: ({ category }) => category && <div className="truncate">{category}</div> },
  { id: 'updated', header: 'Changed', width: '9rem', cell: ({ updated_at: iso }) => <Time iso={iso} /> },
];

function NameCell({ agent: { id, name, description } }: { agent: AgentSummary }) {
  const environment = useEnvironment();
  return (
    <>
      <Link
        to="/$environment/agents/$agentId"
        params={{ environment, agentId: id }}
        className="row-link cell-title"
        preload={false}
        title={name}
      >
        <div className="truncate" dir="auto">
          {name}
        </div>
      </Link>
      {description && (
        <div className="cell-note truncate" dir="auto">
          {description}
        </div>
      )}
    </>
  );
}
