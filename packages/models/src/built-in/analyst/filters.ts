import { dateColumn } from './columns.ts';
import { type Dimension, labelColumn } from './dimensions.ts';
import type { Span } from './intent.ts';
import { type Period, periodsOf } from './periods.ts';
import { columnOf, pathTo, type Schema, type Table, tableOf } from './schema.ts';
import type { Hit } from './values.ts';
import { has, stemsOfName, type Word } from './words.ts';

export interface Filters {
  readonly used: readonly Hit[];
  /** Values that were asked for and that these rows can not be held against. */
  readonly unused: number;
}

export interface Filtered {
  readonly words: readonly Word[];
  readonly schema: Schema;
  readonly hits: readonly Hit[];
  /** The words that named the measure. */
  readonly concept: readonly string[];
}

/** States that things are in. One that is asked for holds, also on a day when nothing is in it. */
const states = new Set(
  'pending open closed late overdue paid unpaid shipped delivered cancelled canceled received approved rejected active inactive left void draft sick vacation'.split(
    ' ',
  ),
);

/** Values that the rows can be held against; the nearest column where a value stands in more than one. */
export function filtersOf({ words, schema, hits, concept }: Filtered, base: Table, dimensions: readonly Dimension[]): Filters {
  const tableNames = new Set(schema.flatMap(({ name }) => stemsOfName(name)));
  const isName = ({ table, value }: Hit) => {
    const lower = value.toLowerCase();
    return (
      tableNames.has(lower) ||
      (concept.includes(lower) && (concept.length === 1 || table !== base.name)) ||
      isDayWord(words, lower, base, schema)
    );
  };
  const byValue = Map.groupBy(
    hits.filter((hit) => !isName(hit)),
    ({ value }) => value.toLowerCase(),
  );
  const used: Hit[] = [];
  let unused = 0;
  for (const [value, group] of byValue) {
    if ([...byValue.keys()].some((other) => other !== value && other.split(' ').includes(value))) continue;
    const nearest = nearestOf(group, base, schema);
    if (!nearest) unused += 1;
    else if (!dimensions.some((dimension) => dimension.kind === 'column' && dimension.column === value)) used.push(nearest);
  }
  return { used: [...used, ...absentStates(words, base, schema, [...used, ...hits], concept)], unused };
}

function nearestOf(group: readonly Hit[], base: Table, schema: Schema): Hit | undefined {
  const reached = group.flatMap((hit) => {
    const path = pathTo(schema, base, hit.table);
    return path ? [{ hit, distance: path.length }] : [];
  });
  return reached.toSorted((a, b) => a.distance - b.distance || Number(isLabel(schema, a.hit)) - Number(isLabel(schema, b.hit)))[0]?.hit;
}

function isLabel(schema: Schema, { table, column }: Hit): boolean {
  const of = tableOf(schema, table);
  return of !== undefined && labelColumn(of)?.name === column;
}

/** States that nothing is in at the moment are not among the values that were found. */
function absentStates(words: readonly Word[], base: Table, schema: Schema, found: readonly Hit[], concept: readonly string[]): Hit[] {
  if (!columnOf(base, 'status')) return [];
  return words.flatMap(({ lower }) => {
    const known = found.some(({ value }) => value.toLowerCase() === lower) || concept.includes(lower);
    return states.has(lower) && !known && !isDayWord(words, lower, base, schema)
      ? [{ table: base.name, column: 'status', value: lower }]
      : [];
  });
}

/** `shipped last month` means the day of shipping, which the span is held against, and not today's status. */
function isDayWord(words: readonly Word[], value: string, base: Table, schema: Schema): boolean {
  return periodsOf(words).length > 0 && (dateColumn(words, base, schema)?.column.startsWith(`${value}_`) ?? false);
}

/** The span of time that the rows are held against; undefined where they have no day. */
export function spanOf({ words, schema }: Filtered, base: Table, period: Period | undefined): Span | undefined {
  if (!period) return undefined;
  const [start, end] = [columnOf(base, 'start_date'), columnOf(base, 'end_date')];
  if (start && end && has(words, 'on leave', 'absent', 'away')) return { table: base.name, column: start.name, until: end.name, period };
  const day = dateColumn(words, base, schema);
  return day && { ...day, period };
}
