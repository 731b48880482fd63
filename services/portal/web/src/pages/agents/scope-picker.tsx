import type { DataSourceTable } from '@agent-service/client';
import { useQuery } from '@tanstack/react-query';
import { ChevronRight, Database, RotateCw, TriangleAlert, X } from 'lucide-react';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { dataSourceQuery } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Empty, Failure, Loading, Notice } from '../../ui/feedback.tsx';
import { SearchBox } from '../../ui/filters.tsx';
import { plural } from '../../ui/format.tsx';
import { changeScope, readScope, type ScopedTable } from './scope.ts';

interface PickerProps {
  value: readonly string[];
  onChange: (entries: string[]) => void;
}

/** Tables rendered at once. */
const maxTablesAtOnce = 200;

/** Finds tables by their names and those of their columns, as many as are rendered at once. The others have a sentence. */
export function useTableSearch(tables: readonly DataSourceTable[] | undefined) {
  const [search, setSearch] = useState('');
  // The typing is painted at once; the rows of thousands of tables follow.
  const text = useDeferredValue(search).trim().toLowerCase();
  const matching = useMemo(
    () => tables?.filter((table) => !text || [table, ...table.columns].some(({ name }) => name.toLowerCase().includes(text))),
    [tables, text],
  );
  const count = matching ? matching.length - maxTablesAtOnce : 0;
  const others = count > 0 && `${plural(count, 'more table')}: search to reach them.`;
  return { search, setSearch, text, shown: matching?.slice(0, maxTablesAtOnce), others };
}

/** Chooses the tables and columns that an agent may read. */
export function ScopePicker({ value, onChange }: PickerProps) {
  const environment = useEnvironment();
  const { data, error, refetch, isFetching } = useQuery(dataSourceQuery(environment));
  const source = data?.tables;
  const { search, setSearch, text, shown, others } = useTableSearch(source);
  const selection = useMemo(() => readScope(value, source ?? []), [value, source]);
  if (error && !data) return <Failure cause={error} onRetry={() => void refetch()} />;
  if (!data || !source) return <Loading label="Reading the tables" />;
  if (data.status === 'none') return <NoSource />;
  if (data.status === 'unreadable')
    return <UnreadableSource reason={data.reason} entries={value} busy={isFetching} onRetry={() => void refetch()} />;
  const isFound = ({ name }: DataSourceTable) => text !== '' && !name.toLowerCase().includes(text);
  return (
    <div className="picker">
      <div className="picker-head">
        <SearchBox label="Find a table or column" value={search} onChange={setSearch} />
        <span className="muted small number" aria-live="polite">
          {plural(selection.tables.size, 'table')} of {source.length}
        </span>
      </div>
      <ul className="picker-list">
        {selection.unknown.map((entry) => (
          <UnknownEntry key={entry} entry={entry} onRemove={() => onChange(value.filter((one) => one !== entry))} />
        ))}
        {shown?.map((table) => (
          <TableChoice
            // Made again, closed or open, when the search finds a column of it or no longer.
            key={`${table.name} ${isFound(table)}`}
            table={table}
            columns={selection.tables.get(table.name)?.columns ?? none}
            isFound={isFound(table)}
            onChange={(columns) => onChange(changeScope(value, source, { table, columns }))}
          />
        ))}
        {others && <li className="picker-note muted small">{others}</li>}
        {shown?.length === 0 && <li className="picker-note muted small">No table or column matches.</li>}
      </ul>
    </div>
  );
}

const none: ReadonlySet<string> = new Set();

function NoSource() {
  const environment = useEnvironment();
  return (
    <div className="table-frame">
      <Empty
        icon={Database}
        title="No data source is connected"
        actions={
          <ButtonLink to="/$environment/data-source" params={{ environment }}>
            Connect a data source
          </ButtonLink>
        }
      >
        An agent without tables answers from its instructions alone. You can choose tables here once a database is connected.
      </Empty>
    </div>
  );
}

interface UnreadableProps {
  reason: string | null;
  entries: readonly string[];
  busy: boolean;
  onRetry: () => void;
}

/** The entries stay as they are: whether the data source has their tables is not known. */
function UnreadableSource({ reason, entries, busy, onRetry }: UnreadableProps) {
  return (
    <div className="stack">
      <Notice tone="warning">The data source cannot be read: {reason}</Notice>
      <ul className="chips">
        {entries.map((entry) => (
          <li key={entry} className="chip mono" dir="auto">
            {entry}
          </li>
        ))}
      </ul>
      <div className="row">
        <Button icon={RotateCw} busy={busy} onClick={onRetry}>
          Try again
        </Button>
      </div>
    </div>
  );
}

function UnknownEntry({ entry, onRemove }: { entry: string; onRemove: () => void }) {
  return (
    <li className="picker-table picker-unknown">
      <div className="picker-row">
        <TriangleAlert size={16} aria-hidden="true" />
        <span className="mono small wrap" dir="auto">
          {entry}
        </span>
        <span className="small">is not in the data source</span>
        <Button variant="ghost" icon={X} onClick={onRemove} aria-label={`Remove ${entry}`} />
      </div>
    </li>
  );
}

interface ChoiceProps extends ScopedTable {
  isFound: boolean;
  onChange: (columns: ReadonlySet<string>) => void;
}

function TableChoice({ table, columns, isFound, onChange }: ChoiceProps) {
  const [isToggled, setToggled] = useState(false);
  const isOpen = isToggled !== isFound;
  const all = table.columns.length;
  const toggle = (name: string) => {
    const next = new Set(columns);
    if (!next.delete(name)) next.add(name);
    onChange(next);
  };
  return (
    <li className="picker-table">
      <div className="picker-row">
        <PartialCheckbox
          label={`All columns of ${table.name}`}
          some={columns.size > 0}
          all={columns.size === all}
          onChange={(isAll) => onChange(new Set(isAll ? table.columns.map(({ name }) => name) : []))}
        />
        <button type="button" className="picker-name" aria-expanded={isOpen} onClick={() => setToggled(!isToggled)}>
          <ChevronRight size={14} aria-hidden="true" className="chevron" />
          <span className="mono truncate">{table.name}</span>
          <span className="muted small number">
            {columns.size > 0 && columns.size < all ? `${columns.size} of ${all}` : plural(all, 'column')}
          </span>
        </button>
      </div>
      {isOpen && (
        <ul className="picker-columns">
          {table.comment && (
            <li className="muted small wrap" dir="auto">
              {table.comment}
            </li>
          )}
          {table.columns.map((column) => (
            <li key={column.name}>
              <label className="check">
                <input type="checkbox" checked={columns.has(column.name)} onChange={() => toggle(column.name)} />
                <span className="wrap">
                  <span className="mono" dir="auto">
                    {column.name}
                  </span>{' '}
                  <ColumnNote column={column} />
                </span>
              </label>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

export function ColumnNote({ column: { type, comment, primary_key: isKey } }: { column: DataSourceTable['columns'][number] }) {
  return (
    <span className="muted small">
      {type}
      {isKey && ', key'}
      {comment && (
        <>
          {' '}
          – <bdi>{comment}</bdi>
        </>
      )}
    </span>
  );
}

interface PartialProps {
  label: string;
  some: boolean;
  all: boolean;
  onChange: (checked: boolean) => void;
}

function PartialCheckbox({ label, some, all, onChange }: PartialProps) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = some && !all;
  }, [some, all]);
  return (
    <input
      ref={box}
      type="checkbox"
      className="checkbox"
      aria-label={label}
      checked={some && all}
      onChange={(event) => onChange(event.target.checked)}
    />
  );
}
