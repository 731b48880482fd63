import { type QueryKey, useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { ChevronLeft, ChevronRight, ChevronsLeft } from 'lucide-react';
import { memo, type ReactNode, useDeferredValue, useEffect, useEffectEvent, useRef, useState } from 'react';
import { ApiError, messageOf } from '../api/errors.ts';
import { keepSameList } from '../api/lists.ts';
import { Button } from './button.tsx';
import { Failure, Notice, Skeleton } from './feedback.tsx';
import { SearchBox, useSearchFilter } from './filters.tsx';
import { formatNumber, plural } from './format.tsx';

export interface Column<Row> {
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  width?: string;
  align?: 'end';
}

interface TableProps<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[] | undefined;
  /** True while other rows than these are read. */
  isLoading?: boolean;
  rowKey: (row: Row) => string;
  /** Buttons at the end of a row. */
  actions?: (row: Row) => ReactNode;
  /** The first cell holds a `.row-link`, which covers the row. */
  linked?: boolean;
  failure?: unknown;
  onRetry?: () => void;
  empty: ReactNode;
  skeletonRows?: number;
}

/** A table; on a phone each row is a card. The roles are written out, since other display values would remove them. */
export function Table<Row>(props: TableProps<Row>) {
  const { label, columns, rows, isLoading = false, rowKey, actions, linked, failure, onRetry, empty, skeletonRows = 6 } = props;
  if (failure && !rows)
    return (
      <div className="table-frame">
        <Failure cause={failure} onRetry={onRetry} />
      </div>
    );
  const hasActions = actions !== undefined;
  return (
    <>
      {failure !== undefined && failure !== null && <OldRows cause={failure} onRetry={onRetry} />}
      <div className="table-frame" aria-busy={!rows || isLoading || undefined}>
        {rows?.length === 0 ? (
          empty
        ) : (
          <table className="table" role="table" aria-label={label}>
            <TableHead columns={columns} hasActions={hasActions} />
            <tbody role="rowgroup">
              {rows
                ? rows.map((row) => <TableRow key={rowKey(row)} row={row} columns={columns} actions={actions} linked={linked} />)
                : Array.from({ length: skeletonRows }, (_, index) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the rows are alike.
                    <SkeletonRow key={index} columns={columns} hasActions={hasActions} />
                  ))}
            </tbody>
          </table>
        )}
      </div>
    </>
  );
}

/** Says that the rows are those of before, since they could not be read again. */
function OldRows({ cause, onRetry }: { cause: unknown; onRetry: (() => void) | undefined }) {
  return (
    <div className="table-notice">
      <Notice tone="danger">
        This list may be out of date. {messageOf(cause)}{' '}
        {onRetry && (
          <button type="button" className="link" onClick={onRetry}>
            Read it again
          </button>
        )}
      </Notice>
    </div>
  );
}

type TableRowProps<Row> = { row: Row; columns: Column<Row>[]; actions: ((row: Row) => ReactNode) | undefined; linked: boolean | undefined };

/** Not rendered again while its row, columns and actions are the same objects. */
const TableRow = memo(function TableRow<Row>({ row, columns, actions, linked }: TableRowProps<Row>) {
  return (
    <tr role="row" className={linked ? 'linked' : undefined}>
      {columns.map(({ id, header, cell, align }) => (
        <td key={id} role="cell" className={align} data-label={header}>
          <div className="cell">{cell(row)}</div>
        </td>
      ))}
      {actions && (
        <td role="cell" className="actions">
          {actions(row)}
        </td>
      )}
    </tr>
  );
}) as <Row>(props: TableRowProps<Row>) => ReactNode;

function TableHead<Row>({ columns, hasActions }: { columns: Column<Row>[]; hasActions: boolean }) {
  return (
    <thead role="rowgroup">
      <tr role="row">
        {columns.map(({ id, header, width, align }) => (
          <th key={id} role="columnheader" scope="col" className={align} style={width ? { width } : undefined}>
            {header}
          </th>
        ))}
        {hasActions && (
          <th role="columnheader" scope="col" className="actions">
            <span className="visually-hidden">Actions</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

function SkeletonRow<Row>({ columns, hasActions }: { columns: Column<Row>[]; hasActions: boolean }) {
  return (
    <tr>
      {columns.map(({ id, header, align }) => (
        <td key={id} className={align} data-label={header}>
          <Skeleton width={align ? '3rem' : '70%'} />
        </td>
      ))}
      {hasActions && <td className="actions" />}
    </tr>
  );
}

interface ListMeta {
  next_cursor: string | null;
  total: number;
}

interface ListPage<Row, Meta> {
  data: Row[];
  meta: Meta;
}

interface CursorList<Row, Meta> {
  rows: Row[] | undefined;
  /** True while the rows of another page or filter are shown. */
  isLoading: boolean;
  page: ListPage<Row, Meta> | undefined;
  failure: unknown;
  refetch: () => void;
  pager: ReactNode;
}

/**
 * One page of a list. The cursor is in the URL, so that a page survives a reload and can be shared; the cursors of the pages before are in the
 * state of the history, since the API has none that lead back.
 */
export function useCursorList<Row, Meta extends ListMeta>(
  queryKey: QueryKey,
  read: (cursor: string | undefined) => Promise<ListPage<Row, Meta>>,
  /** While a row of the page is awaited, the page is read every two seconds. */
  isAwaited: (row: Row) => boolean = () => false,
): CursorList<Row, Meta> {
  const { cursor } = useSearch({ strict: false });
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: [...queryKey, 'page', cursor],
    queryFn: () => read(cursor),
    placeholderData: keepSameList(queryKey),
    refetchInterval: ({ state }) => (state.data?.data.some(isAwaited) ? 2_000 : false),
  });
  // The click on a page is painted at once; the rows follow when they are rendered. Rows that are gone go at once.
  const deferred = useDeferredValue(data);
  const page = data && deferred;
  const navigate = useNavigate();
  const isCursorRefused = cursor !== undefined && error instanceof ApiError && error.code === 'invalid_cursor';
  const openFirstPage = useEffectEvent(() =>
    navigate({ to: '.', search: (now: object) => ({ ...now, cursor: undefined }), state: { cursors: [] }, replace: true }),
  );
  useEffect(() => {
    // The cursor is of other filters, as of the days until yesterday.
    if (isCursorRefused) void openFirstPage();
  }, [isCursorRefused]);
  const next = data?.meta.next_cursor ?? undefined;
  const isLoading = isPlaceholderData || page !== data;
  return {
    rows: page?.data,
    isLoading,
    page,
    failure: error,
    refetch: () => void refetch(),
    pager: data && (
      <>
        {(cursor || next) && <Pager cursor={cursor} next={next} total={data.meta.total} isLoading={isLoading} />}
        <p className="visually-hidden" role="status">
          {isLoading ? '' : plural(data.meta.total, 'result')}
        </p>
      </>
    ),
  };
}

interface PagerProps {
  cursor: string | undefined;
  next: string | undefined;
  total: number;
  isLoading: boolean;
}

function Pager({ cursor, next, total, isLoading }: PagerProps) {
  const navigate = useNavigate();
  const { state } = useLocation();
  const before: (string | null)[] = state.cursors ?? [];
  const goTo = (target: string | undefined, cursors: (string | null)[]) =>
    void navigate({ to: '.', search: (now: object) => ({ ...now, cursor: target }), state: { cursors } });
  return (
    <nav className="pager" aria-label="Pages">
      <span className="number">
        {formatNumber(total)} in all
        {before.length > 0 && `, page ${before.length + 1}`}
      </span>
      <span className="row">
        {cursor && <Button icon={ChevronsLeft} onClick={() => goTo(undefined, [])} aria-label="First page" />}
        <Button
          icon={ChevronLeft}
          aria-disabled={before.length === 0 || isLoading}
          onClick={() => goTo(before.at(-1) ?? undefined, before.slice(0, -1))}
        >
          Previous
        </Button>
        <Button aria-disabled={!next || isLoading} onClick={() => goTo(next, [...before, cursor ?? null])}>
          Next
          <ChevronRight size={16} aria-hidden="true" />
        </Button>
      </span>
    </nav>
  );
}

/** Without a letter for so long, what is typed is searched for. */
export const typingPauseMs = 250;

/** A filter by a text, which goes into the URL when the typing pauses. Only a change of the URL that another control makes changes the text. */
export function useTypedFilter(name: string) {
  const [value, choose] = useSearchFilter(name);
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** The texts that were sent from here and are not in the page yet. The user may have typed more since. */
  const sent = useRef<string[]>([]);
  useEffect(() => {
    const index = sent.current.indexOf(value);
    sent.current = index < 0 ? [] : sent.current.slice(index + 1);
    if (index >= 0) return;
    clearTimeout(timer.current);
    setTyped(value);
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const send = (next: string) => {
    sent.current.push(next);
    choose(next);
  };
  const change = (next: string) => {
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => send(next.trim()), typingPauseMs);
  };
  return { typed, change };
}

export function SearchInput({ label }: { label: string }) {
  const { typed, change } = useTypedFilter('search');
  return <SearchBox label={label} value={typed} onChange={change} />;
}

interface FilterProps {
  name: string;
  label: string;
  options: readonly { value: string; label: string }[];
  all: string;
  /** Stands behind the options. */
  more?: ReactNode;
}

/** A choice that is kept in the URL. */
export function FilterSelect({ name, label, options, all, more }: FilterProps) {
  const [value, choose] = useSearchFilter(name);
  return (
    <select className="select" aria-label={label} value={value} onChange={(event) => choose(event.target.value)}>
      <option value="">{all}</option>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
      {more}
    </select>
  );
}
