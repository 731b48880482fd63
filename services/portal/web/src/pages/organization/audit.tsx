import type { AuditEntry } from '@agent-service/client';
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import { api, bodyOf, type Environment } from '../../api/client.ts';
import { userName, usersQuery } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { ExportButton } from '../../ui/export.tsx';
import { Badge, Empty } from '../../ui/feedback.tsx';
import { DateRange } from '../../ui/filters.tsx';
import { CutOption } from '../../ui/form.tsx';
import { capitalize, Time } from '../../ui/format.tsx';
import { Page } from '../../ui/page.tsx';
import { type Column, FilterSelect, Table, useCursorList, useTypedFilter } from '../../ui/table.tsx';
import { rangeFault } from '../credits/usage-groups.ts';

interface AuditFilter {
  actor?: string;
  action?: string;
  target?: string;
  date_from?: string;
  date_to?: string;
}

const readEntries = (environment: Environment, filter: AuditFilter, limit: number) => (cursor: string | undefined) =>
  bodyOf(api(environment).GET('/v1/audit', { params: { query: { limit, ...(cursor && { cursor }), ...filter } } }));

const csvNames = ['time', 'actor_type', 'actor', 'key', 'action', 'target_type', 'target', 'outcome', 'request', 'changes'];
const csvCells = (entry: AuditEntry) => [
  entry.created_at,
  entry.actor.type,
  entry.actor.id,
  entry.actor.key_id,
  entry.action,
  entry.target.type,
  entry.target.id,
  entry.outcome,
  entry.request_id,
  entry.changes,
];

export function AuditPage() {
  const environment = useEnvironment();
  const { actor, action, target, from, to } = useSearch({ strict: false });
  const { data: users } = useQuery(usersQuery(environment));
  const filter: AuditFilter = {
    ...(actor && { actor }),
    ...(action && { action }),
    ...(target && { target }),
    ...(from && { date_from: from }),
    ...(to && { date_to: to }),
  };
  const range = { ...(from && { from }), ...(to && { to }) };
  const fault = rangeFault(range);
  const nameOf = (id: string) => userName(users, id) ?? id;
  return (
    <Page
      title="Audit log"
      description={`Who did what in the ${environment} environment. Entries cannot be changed.`}
      actions={
        <ExportButton
          fileName={`audit-${environment}.csv`}
          names={csvNames}
          cells={csvCells}
          disabled={fault !== undefined}
          read={readEntries(environment, filter, 200)}
        />
      }
    >
      <div className="filters">
        <FilterSelect
          name="actor"
          label="User"
          all="Everyone"
          options={(users?.rows ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          more={<CutOption list={users} />}
        />
        <FilterText name="action" label="Action" placeholder="Action" />
        <FilterText name="target" label="Target" placeholder="Target id" />
        <DateRange range={range} fault={fault} />
      </div>
      {!fault && <AuditList filter={filter} nameOf={nameOf} />}
    </Page>
  );
}

interface ListProps {
  filter: AuditFilter;
  nameOf: (id: string) => string;
}

function AuditList({ filter, nameOf }: ListProps) {
  const environment = useEnvironment();
  const list = useCursorList([environment, 'audit', filter], readEntries(environment, filter, 50));
  return (
    <>
      <Table
        label="Audit log"
        columns={columnsOf(nameOf)}
        rows={list.rows}
        isLoading={list.isLoading}
        rowKey={({ id }) => id}
        failure={list.failure}
        onRetry={list.refetch}
        empty={
          <Empty icon={ScrollText} title="No entries">
            Each change is listed here with who made it; other filters or a longer time may show more.
          </Empty>
        }
      />
      {list.pager}
    </>
  );
}

function FilterText({ name, label, placeholder }: { name: 'action' | 'target'; label: string; placeholder: string }) {
  const { typed, change } = useTypedFilter(name);
  return (
    <input
      className="input filter-text"
      aria-label={label}
      placeholder={placeholder}
      value={typed}
      onChange={(event) => change(event.target.value)}
    />
  );
}

const columnsOf = (nameOf: (id: string) => string): Column<AuditEntry>[] => [
  {
    id: 'action',
    header: 'Action',
    cell: ({ action, target, changes }) => (
      <>
        <div className="mono truncate">{action}</div>
        <div className="cell-note mono truncate" title={target.id}>
          {target.id}
        </div>
        {Object.keys(changes).length > 0 && (
          <details className="cell-details">
            <summary className="cell-note">Changes</summary>
            <pre className="wrap">{JSON.stringify(changes, null, 2)}</pre>
          </details>
        )}
      </>
    ),
  },
  {
    id: 'actor',
    header: 'By',
    width: '15rem',
    cell: ({ actor }) => (
      <>
        <div className="truncate" dir="auto" title={actor.id}>
          {actor.type === 'user' ? nameOf(actor.id) : actor.type}
        </div>
        {actor.key_id && <div className="cell-note mono truncate">{actor.key_id}</div>}
      </>
    ),
  },
  {
    id: 'outcome',
    header: 'Outcome',
    width: '8rem',
    cell: ({ outcome }) => <Badge tone={outcome === 'success' ? 'success' : 'danger'}>{capitalize(outcome)}</Badge>,
  },
  { id: 'time', header: 'Time', width: '9rem', cell: ({ created_at: iso }) => <Time iso={iso} /> },
];
