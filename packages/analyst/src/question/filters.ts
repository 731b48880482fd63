import { dateColumn, verbs } from '../schema/columns.ts';
import { type Dimension, labelColumn } from '../schema/dimensions.ts';
import { type Condition, mentionedTables } from '../schema/measures.ts';
import { columnName, columnOf, pathTo, type Schema, type Table, tableOf } from '../schema/schema.ts';
import type { Hit } from '../schema/values.ts';
import { type Period, periodsOf } from '../words/periods.ts';
import { has, indexOfStems, isNegation, stemOf, stemsOfName, type Word, wordsOf } from '../words/words.ts';
import type { Span, Without } from './intent.ts';

interface Filters {
  readonly used: readonly Hit[];
  /** Conditions on events that have not happened yet: `not shipped`. */
  readonly conditions: readonly Condition[];
}

export interface Filtered {
  readonly words: readonly Word[];
  readonly schema: Schema;
  readonly hits: readonly Hit[];
  /** The words that named the measure. */
  readonly concept: readonly string[];
}

/** Values of status columns. A state that the question names is a condition even when no row has it. */
const states = new Set(
  'pending open closed late overdue paid unpaid shipped delivered cancelled canceled received approved rejected active inactive left void draft sick vacation'.split(
    ' ',
  ),
);

/** Values by which the rows are filtered; in the nearest column where several have the value. */
export function filtersOf(question: Filtered, base: Table, dimensions: readonly Dimension[]): Filters {
  const { words, schema, hits, concept } = question;
  const conditions = undoneOf(words, base);
  const undone = new Set(conditions.map(({ word }) => word));
  const tableNames = new Set(schema.flatMap(({ name }) => [...stemsOfName(name), name.toLowerCase().replaceAll('_', ' ')]));
  const isName = ({ table, value }: Hit) => {
    const lower = value.toLowerCase();
    return (
      tableNames.has(lower) ||
      undone.has(lower) ||
      ((concept.includes(lower) || concept.includes(stemOf(lower))) && (concept.length === 1 || table !== base.name)) ||
      isDayWord(words, lower, base, schema)
    );
  };
  const values = hits.filter((hit) => !isName(hit));
  const byValue = Map.groupBy(values, ({ value }) => value.toLowerCase());
  const used: Hit[] = [];
  for (const [value, group] of byValue) {
    if ([...byValue.keys()].some((other) => other !== value && other.split(' ').includes(value))) continue;
    const nearest = nearestOf(group, base, schema);
    const isDimension = dimensions.some((dimension) => dimension.kind === 'column' && dimension.column === value);
    if (nearest && !isDimension) used.push({ ...nearest, excluded: isExcluded(words, value) });
  }
  const absent = absentStates(words, base, schema, [...used, ...hits], [...concept, ...undone]);
  return { used: [...used, ...absent], conditions: [...conditions, ...flagsOf(words, base, dimensions)] };
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

/** `not cancelled`, `except for Germany`: a negation is one or two words before the value. */
function isExcluded(words: readonly Word[], value: string): boolean {
  const first = wordsOf(value)[0]?.lower;
  const at = words.findIndex(({ lower, stem }) => lower === first || stem === first);
  return at > 0 && words.slice(Math.max(0, at - 2), at).some(isNegation);
}

/** `not shipped` means rows without a day of shipping, and not those in another state. */
function undoneOf(words: readonly Word[], base: Table): (Condition & { word: string })[] {
  const days = base.columns.filter(({ kind }) => kind === 'date');
  return words.flatMap(({ lower }) => {
    const day = isExcluded(words, lower) ? days.find(({ name }) => verbs(name).includes(lower)) : undefined;
    if (!day) return [];
    const sql = (alias: string) => `${alias}.${columnName(day.name)} is null`;
    return [
      { word: lower, table: base.name, column: day.name, label: `no ${day.name.replaceAll('_', ' ')}`, isNamed: true, negates: true, sql },
    ];
  });
}

/** `discontinued products`: a boolean column. */
function flagsOf(words: readonly Word[], base: Table, dimensions: readonly Dimension[]): Condition[] {
  return base.columns.flatMap(({ name, kind }) => {
    const at = kind === 'boolean' ? indexOfStems(words, stemsOfName(name)) : -1;
    if (at < 0 || dimensions.some((dimension) => dimension.kind === 'column' && dimension.column === name)) return [];
    const negates = words.slice(Math.max(0, at - 2), at).some(isNegation);
    const label = `${negates ? 'not ' : ''}${name.replaceAll('_', ' ')}`;
    const sql = (alias: string) => `${alias}.${columnName(name)} is ${negates ? 'not true' : 'true'}`;
    return [{ table: base.name, column: name, label, isNamed: true, negates, sql }];
  });
}

/** Named states that no row has at the moment, which a search for values does not find. */
function absentStates(words: readonly Word[], base: Table, schema: Schema, hits: readonly Hit[], concept: readonly string[]): Hit[] {
  if (!columnOf(base, 'status')) return [];
  return words.flatMap(({ lower }) => {
    const known = hits.some(({ value }) => value.toLowerCase() === lower) || concept.includes(lower);
    return states.has(lower) && !known && !isDayWord(words, lower, base, schema)
      ? [{ table: base.name, column: 'status', value: lower, excluded: isExcluded(words, lower) }]
      : [];
  });
}

/** `shipped last month` means the day of shipping, to which the span applies, and not today's status. */
function isDayWord(words: readonly Word[], value: string, base: Table, schema: Schema): boolean {
  return periodsOf(words).length > 0 && (dateColumn(words, base, schema)?.column.startsWith(`${value}_`) ?? false);
}

/** The span of time by which the rows are filtered; undefined where they have no day. */
export function spanOf({ words, schema }: Filtered, base: Table, period: Period | undefined): Span | undefined {
  if (!period) return undefined;
  const [start, end] = [columnOf(base, 'start_date'), columnOf(base, 'end_date')];
  if (start && end && has(words, 'on leave', 'absent', 'away', 'on vacation', 'on holiday', 'off sick'))
    return { table: base.name, column: start.name, until: end.name, period };
  const day = dateColumn(words, base, schema);
  return day && { ...day, period };
}

/** `customers without orders this year`: none of the other table's rows, within the span where there is one. */
export function withoutOf({ words, schema }: Filtered, base: Table, period: Period | undefined): Without | undefined {
  for (const { table, at } of mentionedTables(words, schema)) {
    const key = table.foreignKeys.find((one) => one.table === base.name);
    if (!key || table === base || !words.slice(Math.max(0, at - 3), at).some(isNegation)) continue;
    const day = dateColumn(words, table, schema);
    const span = period && day?.table === table.name ? { ...day, period } : undefined;
    return { table, key, span };
  }
  return undefined;
}
