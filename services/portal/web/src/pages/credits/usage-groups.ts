import { locale } from '../../ui/locale.ts';

/** The models, from the cheapest to the dearest. */
export const tiers = ['Fast', 'Smart', 'Expert', 'Premium'] as const;

/** A group of usage, for each kind of grouping. */
export interface UsageGroup {
  date?: string;
  week?: string;
  month?: string;
  user_id?: string;
  agent_id?: string;
  name?: string;
  total_credits: number;
  query_count: number;
  unique_users?: number;
  unique_agents?: number;
  breakdown_by_model: Record<string, number>;
}

export interface UsagePage {
  data: UsageGroup[];
  meta: {
    next_cursor: string | null;
    total: number;
    total_credits: number;
    total_queries: number;
    date_range: { from: string; to: string };
  };
}

export const dayMs = 86_400_000;
export const isoDay = (time: number) => new Date(time).toISOString().slice(0, 10);

/** As many as the API adds usage up over. */
export const maxDays = 366;

/** Why there is nothing to show of these days, as a sentence for the person who chose them. Without a last day it is today. */
export function rangeFault(
  { from, to }: { from?: string; to?: string },
  most = Number.POSITIVE_INFINITY,
  now = Date.now(),
): string | undefined {
  if (!from) return undefined;
  const count = (Date.parse(to ?? isoDay(now)) - Date.parse(from)) / dayMs + 1;
  if (count < 1) return to ? 'The first day is after the last one.' : 'The first day is after today.';
  if (count > most) return `Choose at most ${most} days: these are ${count}.`;
  return undefined;
}

/**
 * The last days of the range, those without usage too, so that the axis shows time as it passed. A person may choose any years: days to come
 * are left out, unless the clock of this machine is late and they have usage.
 */
export function fillDays({ data, meta: { date_range: range } }: UsagePage, most: number, now = Date.now()): UsageGroup[] {
  const byDate = new Map(data.map((group) => [group.date, group]));
  const latest = Math.max(Date.parse(isoDay(now)), Date.parse(data.at(-1)?.date ?? range.from));
  const end = Math.min(Date.parse(range.to), latest);
  const days: UsageGroup[] = [];
  for (let time = Math.max(Date.parse(range.from), end - (most - 1) * dayMs); time <= end; time += dayMs) {
    const date = isoDay(time);
    days.push(byDate.get(date) ?? { date, total_credits: 0, query_count: 0, breakdown_by_model: {} });
  }
  return days;
}

/** Numbers the repeats of a label, since a chart has one bar for each label. */
function distinct(labels: readonly string[]): string[] {
  const names = new Set(labels);
  const visited = new Set<string>();
  return labels.map((label) => {
    let name = label;
    for (let count = 2; visited.has(label) && names.has(name); count += 1) name = `${label} (${count})`;
    visited.add(label);
    names.add(name);
    return name;
  });
}

/** A chart of credits by model, over time or for each user or agent. */
export function usageSpec(rows: { label: string; breakdown: Record<string, number> }[], isTime: boolean): object {
  const labels = distinct(rows.map(({ label }) => label));
  const values = rows.flatMap(({ breakdown }, index) => {
    const label = labels[index];
    const entries = Object.entries(breakdown).filter(([, credits]) => credits > 0);
    return (entries.length > 0 ? entries : [[tiers[0], 0] as const]).map(([model, credits]) => ({ label, model, credits }));
  });
  const axis = isTime ? { labelAngle: 0 } : { labelLimit: 120 };
  return {
    data: { values },
    mark: 'bar',
    encoding: {
      x: { field: 'label', type: 'ordinal', sort: null, title: null, axis },
      y: { field: 'credits', type: 'quantitative', title: 'Credits', axis: { tickCount: 4 } },
      color: { field: 'model', type: 'nominal', title: null, scale: { domain: tiers } },
    },
  };
}

const shortDay = new Intl.DateTimeFormat(locale, { month: 'short', day: 'numeric', timeZone: 'UTC' });
const dayOfYear = new Intl.DateTimeFormat(locale, { year: 'numeric', month: 'short', day: 'numeric', timeZone: 'UTC' });
const shortMonth = new Intl.DateTimeFormat(locale, { month: 'short', year: 'numeric', timeZone: 'UTC' });

/** A day of another year has its year, since a range may have several. */
export const dayLabel = (date: string, now = Date.now()): string =>
  (date.slice(0, 4) === isoDay(now).slice(0, 4) ? shortDay : dayOfYear).format(new Date(date));
export const monthLabel = (date: string): string => shortMonth.format(new Date(date));
