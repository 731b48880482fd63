import type { Agent } from '@agent-service/client';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { dataSourceQuery } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Failure, Loading, Notice } from '../../ui/feedback.tsx';
import { plural } from '../../ui/format.tsx';
import { readScope, type ScopedTable } from './scope.ts';
import { ColumnNote } from './scope-picker.tsx';

/** The tables as the agent sees them: the columns outside its scope do not exist for it. */
export function AgentData({ agent }: { agent: Agent }) {
  const environment = useEnvironment();
  const { data, error, refetch } = useQuery(dataSourceQuery(environment));
  const { tables: entries } = agent.data_scope;
  const selection = useMemo(() => readScope(entries, data?.tables ?? []), [entries, data]);
  if (error && !data) return <Failure cause={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading />;
  return (
    <div className="stack">
      <p className="muted">
        {selection.tables.size === 0
          ? 'The agent sees no tables: it answers from its instructions alone.'
          : `The agent sees ${plural(selection.tables.size, 'table')}. Everything else does not exist for it, even if a user or the model asks for it.`}
      </p>
      {data.status === 'unreadable' && <Notice tone="warning">The data source cannot be read: {data.reason}</Notice>}
      {data.role_gate && !data.role_gate.active && (
        <Notice tone="warning">The database itself does not enforce this scope: {data.role_gate.reason}</Notice>
      )}
      {selection.unknown.length > 0 && data.status === 'connected' && (
        <Notice tone="warning">
          Not in the data source:{' '}
          <span className="mono wrap" dir="auto">
            {selection.unknown.join(', ')}
          </span>
        </Notice>
      )}
      <div className="cards">
        {[...selection.tables.values()].map((scoped) => (
          <SeenTable key={scoped.table.name} {...scoped} />
        ))}
      </div>
    </div>
  );
}

function SeenTable({ table, columns }: ScopedTable) {
  const hidden = table.columns.length - columns.size;
  return (
    <section className="card" aria-label={table.name}>
      <h2 className="mono small" dir="auto">
        {table.name}
      </h2>
      {table.comment && (
        <p className="muted small wrap" dir="auto">
          {table.comment}
        </p>
      )}
      <ul className="column-list">
        {table.columns
          .filter(({ name }) => columns.has(name))
          .map((column) => (
            <li key={column.name} className="wrap">
              <span className="mono" dir="auto">
                {column.name}
              </span>{' '}
              <ColumnNote column={column} />
            </li>
          ))}
      </ul>
      {hidden > 0 && <p className="muted small">{plural(hidden, 'column')} hidden</p>}
    </section>
  );
}
