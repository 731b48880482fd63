import { tablesOfTerms } from '../meaning/candidates.ts';
import type { Pass } from '../meaning/pass.ts';
import type { Tile } from '../meaning/tiles.ts';
import type { ColumnSql, Condition } from '../schema/expression.ts';
import { beginDate } from '../schema/roles.ts';
import { columnName, columnOf, type ForeignKey, pathTo, type Table } from '../schema/schema.ts';
import { type Period, periodSql, spanLabel } from '../words/grains.ts';
import { toWords } from '../words/words.ts';
import type { Placed } from './conditions.ts';
import { remainingSql } from './deleted.ts';

/** Tables whose rows refer to these: customers without orders, products that were never sold. */
export function relatedOf(pass: Pass): Placed[] {
  const concerned = [...pass.tiles.entries()].flatMap(([at, tile]) => (pass.isUsed(at) ? [] : childOf(pass, tile, at)));
  const [first] = concerned;
  if (!first || concerned.some(({ child }) => child !== first.child)) return [];
  const nots = pass.find('not', 'without');
  const periods = pass.tiles.flatMap(({ period }, at) => (period && !pass.isUsed(at) ? [{ period, at }] : []));
  const day = beginDate(first.child)?.name;
  if (periods.length > 1 || (periods.length === 1 && day === undefined)) return [];
  const [span] = periods;
  const within = span && day !== undefined ? { ...span.period, day } : undefined;
  const condition = relatedCondition(first.child, pass.base, nots.length === 0, within);
  if (!condition) return [];
  const anything = pass.tiles.flatMap(({ words }, at) => (nots.length > 0 && /^any(thing)?$/.test(words[0]?.lower ?? '') ? [at] : []));
  pass.use(...concerned.map(({ at }) => at), ...nots, ...periods.map(({ at }) => at), ...anything);
  return [{ at: first.at, condition }];
}

/** The table below the base that a word names. Ordered things may be in orders of customers and in those to suppliers: then none. */
function childOf(pass: Pass, tile: Tile, at: number): { at: number; child: Table }[] {
  const { schema, base, reaches } = pass;
  const isChild = (table: Table) => !reaches(table.name) && table.foreignKeys.some((key) => key.table === base.name);
  // `never paid a bill` is not about rows that begin, and `paid all bills` not about one of them.
  const days = tile.days.filter(({ table, column }) => beginDate(table) === column);
  // `accounts created last year` have that day themselves, before other rows that were created for them.
  if (tile.tables.length === 0 && days.some(({ table }) => table === base)) return [];
  if (days.length < tile.days.length || pass.tiles[at - 1]?.words[0]?.lower === 'all') return [];
  const child = [...tile.tables, ...days.map(({ table }) => table), ...tablesOfTerms(tile, schema)].find(isChild);
  if (!child) return [];
  const leadsElsewhere = (table: Table) =>
    table !== child &&
    !pathTo(schema, child, table.name) &&
    schema.some((one) => isChild(one) && one !== child && pathTo(schema, one, table.name));
  return tile.days.some(({ table }) => leadsElsewhere(table)) ? [] : [{ at, child }];
}

interface Within extends Period {
  readonly day: string;
}

function relatedCondition(child: Table, base: Table, isThere: boolean, within: Within | undefined): Condition | undefined {
  // Transfers from a warehouse and to it are both its own.
  const keys = child.foreignKeys.filter(({ table }) => table === base.name);
  if (keys.length === 0) return undefined;
  const days = within ? periodSql(within, `w.${columnName(within.day)}`) : [];
  const remaining = remainingSql(child)?.((_, column) => `w.${columnName(column)}`);
  const met = (of: ColumnSql) =>
    [
      `(${keys.map((key) => `w.${columnName(key.column)} = ${of(base.name, key.references)}`).join(' or ')})`,
      ...days,
      ...(remaining === undefined ? [] : [remaining]),
    ].join(' and ');
  return {
    key: `related ${child.name}`,
    label: `${isThere ? 'with' : 'without'} ${toWords(child.name)}${keys.length > 1 ? ` by ${keys.map(({ column }) => toWords(column)).join(' or ')}` : ''}${within ? ` ${spanLabel(within)}` : ''}`,
    tables: [base.name],
    sql: (of) => `${isThere ? '' : 'not '}exists (select 1 from ${child.written} w where ${met(of)})`,
  };
}

/** `patients without an insurer`, `patients who have insurers`: the key is empty, or it is not. */
export function keyConditions(pass: Pass): Placed[] {
  const missing = pass.find('without', 'not').flatMap((at) => {
    const next = pass.beside(at, 1);
    const key = pass.isUsed(next) ? undefined : keyAt(pass, next);
    if (key) pass.use(at, next);
    return key ? [keyCondition(pass.base, at, key, false)] : [];
  });
  const present = pass.tiles.flatMap((_, at) => {
    const before = /^(an?|any)$/.test(wordAt(pass, at - 1)) ? at - 2 : at - 1;
    const key = pass.isUsed(at) || !/^(with|have|has)$/.test(wordAt(pass, before)) ? undefined : keyAt(pass, at);
    const mayBeEmpty = key && !columnOf(pass.base, key.column)?.isNeverEmpty;
    return mayBeEmpty ? [keyCondition(pass.base, at, key, true)] : [];
  });
  return [...missing, ...present];
}

const wordAt = (pass: Pass, at: number): string => pass.tiles[at]?.words.at(-1)?.lower ?? '';

/** The only key of the base that leads to a table which is named there. */
function keyAt({ tiles, base }: Pass, at: number): ForeignKey | undefined {
  const keys = tiles[at]?.tables.map((table) => base.foreignKeys.filter((one) => one.table === table.name)) ?? [];
  const [key, ...more] = keys.find(({ length }) => length > 0) ?? [];
  return more.length > 0 ? undefined : key;
}

const keyCondition = ({ name }: Table, at: number, { table, column }: ForeignKey, isThere: boolean): Placed => ({
  at,
  condition: {
    key: `${name}.${column}`,
    label: `${isThere ? 'with' : 'without'} ${toWords(table)}`,
    tables: [name],
    sql: (of) => `${of(name, column)} is ${isThere ? 'not ' : ''}null`,
  },
});
