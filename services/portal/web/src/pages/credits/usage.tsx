import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { ChartColumn } from 'lucide-react';
import { useMemo } from 'react';
import { userName, usersQuery } from '../../api/lists.ts';
import { useEnvironment } from '../../app/use-environment.ts';
import { ExportButton } from '../../ui/export.tsx';
import { Empty, Failure } from '../../ui/feedback.tsx';
import { DateRange, Segmented, useSearchFilter } from '../../ui/filters.tsx';
import { formatNumber, plural } from '../../ui/format.tsx';
import { ChartSpace, LazyChart } from '../../ui/rich/lazy-chart.tsx';
import { type Column, Table, useCursorList } from '../../ui/table.tsx';
import { type Grouping, groupings, readPeriods, readUsage, type UsageRange, useLastDays } from './usage-data.ts';
import { dayLabel, fillDays, maxDays, monthLabel, rangeFault, tiers, type UsageGroup, type UsagePage, usageSpec } from './usage-groups.ts';

const labels: Record<Grouping, string> = { day: 'Day', week: 'Week', month: 'Month', user: 'User', agent: 'Agent' };
const groupingOptions = groupings.map((id) => ({ id, label: labels[id] }));
const maxBars = 31;
/** Days, weeks and months are narrower. */
const maxTimes = 62;
const defaultDays = 30;
/** Users or agents on a page. Days, weeks and months stand on one. */
const ownersAtOnce = 50;

const isPeriod = (grouping: Grouping) => grouping !== 'user' && grouping !== 'agent';
/** Users and agents are sorted by what they used, which grows while they are read. */
const ownerOf = (row: UsageGroup) => row.user_id ?? row.agent_id ?? '';

export function Usage() {
  const environment = useEnvironment();
  const { group = 'day', from, to } = useSearch({ strict: false });
  const grouping = groupings.find((one) => one === group) ?? 'day';
  const lastDays = useLastDays(defaultDays);
  const range = from || to ? { ...(from && { from }), ...(to && { to }) } : lastDays;
  const { data: users } = useQuery(usersQuery(environment));
  const nameOf = (id: string) => userName(users, id);
  const label = labelOf(grouping, (id) => nameOf(id) ?? id);
  const fault = rangeFault(range, maxDays);
  const [, chooseGrouping] = useSearchFilter('group');
  return (
    <div className="stack">
      <div className="row wraps spread">
        <Segmented label="Group by" options={groupingOptions} value={grouping} onChange={chooseGrouping} />
        <DateRange range={range} fault={fault}>
          <ExportButton
            fileName={`usage-by-${grouping}.csv`}
            disabled={fault !== undefined}
            names={[...csvNames(grouping), 'credits', 'queries', ...tiers]}
            cells={(row: UsageGroup) => csvCells(row, grouping, nameOf)}
            read={(cursor) => readUsage(environment, grouping, range, cursor)}
            idOf={isPeriod(grouping) ? undefined : ownerOf}
          />
        </DateRange>
      </div>
      {!fault && <UsageList key={grouping} grouping={grouping} range={range} label={label} />}
    </div>
  );
}

interface ListProps {
  grouping: Grouping;
  range: UsageRange;
  label: (row: UsageGroup) => string;
}

/** Made again for another grouping, whose labels do not fit the rows of this one. */
function UsageList({ grouping, range, label }: ListProps) {
  const environment = useEnvironment();
  const { page, isLoading, failure, refetch, pager } = useCursorList([environment, 'credits', 'usage', grouping, range], (cursor) =>
    isPeriod(grouping) ? readPeriods(environment, grouping, range) : readUsage(environment, grouping, range, cursor, ownersAtOnce),
  );
  if (failure && !page)
    return (
      <div className="table-frame">
        <Failure cause={failure} onRetry={refetch} />
      </div>
    );
  return (
    <>
      <UsageView page={page} isLoading={isLoading} grouping={grouping} label={label} />
      {pager}
    </>
  );
}

const csvNames = (grouping: Grouping) => (isPeriod(grouping) ? [grouping] : [`${grouping}_id`, grouping]);

/** A week and a month are named by their first day. */
function csvCells(row: UsageGroup, grouping: Grouping, nameOf: (userId: string) => string | undefined) {
  const owner = grouping === 'user' ? [row.user_id, nameOf(row.user_id ?? '')] : [row.agent_id, row.name];
  return [
    ...(isPeriod(grouping) ? [row.date] : owner),
    row.total_credits,
    row.query_count,
    ...tiers.map((tier) => row.breakdown_by_model[tier] ?? 0),
  ];
}

function labelOf(grouping: Grouping, userName: (id: string) => string) {
  return (row: UsageGroup): string => {
    switch (grouping) {
      case 'day':
        return dayLabel(row.date ?? '');
      case 'week':
        return `Week of ${dayLabel(row.date ?? '')}`;
      case 'month':
        return monthLabel(row.date ?? '');
      case 'user':
        return userName(row.user_id ?? '');
      case 'agent':
        return row.name || (row.agent_id ?? '');
    }
  };
}

interface ViewProps {
  page: UsagePage | undefined;
  isLoading: boolean;
  grouping: Grouping;
  label: (row: UsageGroup) => string;
}

function UsageView({ page, isLoading, grouping, label }: ViewProps) {
  const rows = useMemo(() => page && (grouping === 'day' ? fillDays(page, maxTimes) : page.data), [page, grouping]);
  const bars = useMemo(() => (isPeriod(grouping) ? rows?.slice(-maxTimes) : rows?.slice(0, maxBars)), [rows, grouping]);
  const spec = useMemo(
    () =>
      bars &&
      usageSpec(
        bars.map((row) => ({ label: label(row), breakdown: row.breakdown_by_model })),
        isPeriod(grouping),
      ),
    [bars, grouping, label],
  );
  const used = page?.data.filter(({ query_count: count }) => count > 0);
  return (
    <>
      <div className="card padded">
        <p className="muted">
          {page ? `${plural(page.meta.total_credits, 'credit')} in ${plural(page.meta.total_queries, 'answer')}` : 'Reading the usage'}
        </p>
        {spec && page && page.meta.total_queries > 0 && <LazyChart spec={spec} label={`Credits by ${grouping}`} />}
        {bars && page && isCut(page, bars) && (
          <p className="muted small">
            The chart has the {isPeriod(grouping) ? 'last' : 'first'} {plural(bars.length, grouping)}. The table has all of them.
          </p>
        )}
        {page?.meta.total_queries === 0 && (
          <div className="chart">
            <Empty icon={ChartColumn} title="No usage in this time">
              Each answer of an agent appears here with the credits that it cost.
            </Empty>
          </div>
        )}
        {!page && <ChartSpace />}
      </div>
      {used?.length !== 0 && (
        <Table
          label={`Usage by ${grouping}`}
          columns={columnsOf(grouping, label)}
          rows={used && (isPeriod(grouping) ? used.toReversed() : used)}
          isLoading={isLoading}
          rowKey={(row) => row.user_id ?? row.agent_id ?? row.date ?? ''}
          empty={null}
        />
      )}
    </>
  );
}

/** True if bars are missing in the chart. Those of days without usage are no groups of the page. */
const isCut = ({ data, meta: { date_range: range } }: UsagePage, bars: readonly UsageGroup[]): boolean =>
  data.some(({ date }) => date !== undefined && date < (bars[0]?.date ?? range.from)) || data.length > bars.length;

const columnsOf = (grouping: Grouping, label: (row: UsageGroup) => string): Column<UsageGroup>[] => [
  {
    id: 'group',
    header: labels[grouping],
    cell: (row) => (
      <div className="truncate" dir="auto">
        {label(row)}
      </div>
    ),
  },
  {
    id: 'answers',
    header: 'Answers',
    width: '8rem',
    align: 'end',
    cell: ({ query_count: count }) => <span className="number">{formatNumber(count)}</span>,
  },
  {
    id: 'credits',
    header: 'Credits',
    width: '8rem',
    align: 'end',
    cell: ({ total_credits: credits }) => <span className="number">{formatNumber(credits)}</span>,
  },
];
