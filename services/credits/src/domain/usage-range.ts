import { type Day, dayOf } from './periods.ts';
import type { RecordRange } from './ranges.ts';

const DAY_MS = 86_400_000;

/** Instants in milliseconds, `until` excluded. */
export interface Span {
  from: number;
  until: number;
}

export interface SplitRange {
  /** The days that lie wholly in the range, both ends included; null is open. Absent where there is none. */
  days?: { from: Day | null; to: Day | null };
  /** What is left at its two ends, each less than a day, or all of it where no day lies wholly in it. */
  edges: Span[];
}

/** Splits a range so that whole days can be taken from the rollups, and only the rest has to be counted. */
export function splitRange({ from, until }: Pick<RecordRange, 'from' | 'until'>): SplitRange {
  const begin = from === null ? null : Math.ceil(from / DAY_MS) * DAY_MS;
  const end = until === null ? null : Math.floor(until / DAY_MS) * DAY_MS;
  if (from !== null && until !== null && (begin as number) >= (end as number)) return { edges: [{ from, until }] };
  const edges: Span[] = [];
  if (from !== null && begin !== null && from < begin) edges.push({ from, until: begin });
  if (until !== null && end !== null && end < until) edges.push({ from: end, until });
  return { days: { from: begin === null ? null : dayOf(begin), to: end === null ? null : dayOf(end - 1) }, edges };
}
