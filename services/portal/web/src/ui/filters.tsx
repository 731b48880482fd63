import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type ReactNode, useId } from 'react';
import { DateInput, ErrorText } from './form.tsx';

/** A choice that is kept in the URL. Another choice begins at the first page of its list. */
export function useSearchFilter(name: string): [value: string, choose: (value: string) => void] {
  const navigate = useNavigate();
  const values: Record<string, unknown> = useSearch({ strict: false });
  const choose = (value: string) =>
    void navigate({ to: '.', search: (now: object) => ({ ...now, [name]: value || undefined, cursor: undefined }), replace: true });
  return [String(values[name] ?? ''), choose];
}

interface Option<Id> {
  id: Id;
  label: string;
}

interface SegmentedProps<Id> {
  label: string;
  options: readonly Option<Id>[];
  value: Id;
  onChange: (id: Id) => void;
}

/** A choice of a few, all of which are in sight. */
export function Segmented<Id extends string>({ label, options, value, onChange }: SegmentedProps<Id>) {
  return (
    <div className="segmented" role="group" aria-label={label}>
      {options.map((option) => (
        <button key={option.id} type="button" aria-pressed={option.id === value} onClick={() => onChange(option.id)}>
          {option.label}
        </button>
      ))}
    </div>
  );
}

interface TabsProps {
  label: string;
  /** The first tab has no id: the URL of the page leads to it. */
  tabs: readonly Option<string | undefined>[];
  current: string | undefined;
}

/** Views of a page, one of which is named in the URL. */
export function Tabs({ label, tabs, current }: TabsProps) {
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map((tab) => (
        <Link
          key={tab.label}
          to="."
          search={(now: object) => ({ ...now, tab: tab.id, cursor: undefined })}
          replace
          className="tab"
          aria-current={tab.id === current ? 'page' : undefined}
          activeOptions={{ exact: true, explicitUndefined: true }}
        >
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}

interface RangeProps {
  range: { from?: string | undefined; to?: string | undefined };
  /** Why the page shows nothing of this range. */
  fault: string | undefined;
  /** Stands behind the days. */
  children?: ReactNode;
}

/** The first and the last day, in the URL. The choice of one keeps the other, which may be a default of the page. */
export function DateRange({ range: { from, to }, fault, children }: RangeProps) {
  const navigate = useNavigate();
  const id = useId();
  const faultId = fault && id;
  const set = (name: 'from' | 'to') => (day: string) =>
    void navigate({
      to: '.',
      search: (now: object) => ({ from, to, ...now, [name]: day || undefined, cursor: undefined }),
      replace: true,
    });
  return (
    <div className="date-range">
      <div className="row wraps">
        <DateInput label="From" value={from ?? ''} max={to} faultId={faultId} onChange={set('from')} />
        <span className="muted">to</span>
        <DateInput label="To" value={to ?? ''} min={from} faultId={faultId} onChange={set('to')} />
        {children}
      </div>
      <ErrorText id={faultId}>{fault}</ErrorText>
    </div>
  );
}

interface SearchBoxProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
}

export function SearchBox({ label, value, onChange }: SearchBoxProps) {
  return (
    <div className="search">
      <Search size={16} aria-hidden="true" />
      <input
        className="input"
        type="search"
        dir="auto"
        placeholder={label}
        aria-label={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}
