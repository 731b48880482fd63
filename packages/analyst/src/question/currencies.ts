import type { Intent } from '../meaning/intent.ts';
import type { Vocabulary } from '../meaning/tiles.ts';
import { isCurrency, isMoney, mayBeMoney, numbersOf } from '../schema/roles.ts';
import { type Column, reachable, type Table } from '../schema/schema.ts';
import type { ValueIndex } from '../schema/value-index.ts';
import { toWords } from '../words/words.ts';

/** The currencies that stand beside the amounts of a question. */
interface Currencies {
  readonly table: Table;
  readonly column: Column;
  /** Those that are known. */
  readonly listed: readonly string[];
  /** There are no others. */
  readonly isWhole: boolean;
  /** The question chooses one, or makes a group of each. */
  readonly isSeparate: boolean;
}

/** The currencies of the amounts that a question adds up, averages or ranks. */
export function currenciesBeside(intent: Intent, { schema, index }: Vocabulary): Currencies | undefined {
  for (const table of reachable(intent.base, schema)) {
    const isOwn = table === intent.base;
    const column = combinesAmounts(intent, isOwn ? mayBeMoney : isMoney) ? currencyColumn(table, index) : undefined;
    // The currency of a country is not that of orders from it.
    if (!column || (!isOwn && !numbersOf(table).some(isMoney))) continue;
    return {
      table,
      column,
      listed: index.valuesOf(table.name, column.name),
      isWhole: index.hasAllOf(table.name),
      isSeparate: separates(intent, table.name, column.name),
    };
  }
  return undefined;
}

/** Why the amounts of a question cannot be added up, averaged or ranked: they are in several currencies, and it does not choose one. */
export function mixedCurrencies(beside: Currencies | undefined): string | undefined {
  if (!beside || beside.isSeparate) return undefined;
  const { table, column, listed } = beside;
  const currencies = [...new Set(listed.map((value) => value.toUpperCase()))];
  if (currencies.length < 2) return undefined;
  const names = currencies.length > maxNamed ? 'several currencies' : currencies.join(' and ');
  return `The amounts are in ${names} (${toWords(column.name)} of ${toWords(table.name)}): ask for one of them, or by ${toWords(column.name)}`;
}

const maxNamed = 5;

const codes: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** The column of currencies, by its name or, as `ccy`, by its values. */
const currencyColumn = ({ name, columns }: Table, index: ValueIndex): Column | undefined =>
  columns.find(isCurrency) ??
  columns.find((column) => {
    const values = column.kind === 'text' ? index.valuesOf(name, column.name) : [];
    return values.length > 0 && values.every((value) => codes.has(value.toUpperCase()));
  });

/** Amounts of several rows make the figure, or the order in which rows are cut off. */
function combinesAmounts(
  { shape, operation, quantity, base, orderBy, limited }: Intent,
  isAmountColumn: (column: Column) => boolean,
): boolean {
  const named = (name: string | undefined) => base.columns.some((one) => one.name === name && isAmountColumn(one));
  const isAmount = quantity !== undefined && (quantity.unit === 'money' || quantity.per !== undefined || named(quantity.column));
  if (shape === 'figure') return isAmount && (operation !== 'count' || quantity.per !== undefined);
  return limited && orderBy !== undefined && (isAmount || named(orderBy.column.sql((_, column) => column)));
}

/** One currency is chosen, or each has a group of its own that is not compared with the others. */
function separates({ conditions, dimensions, limited, order, share, ofGroups }: Intent, table: string, column: string): boolean {
  const isOne = conditions.some(({ key, label }) => key === `${table}.${column}` && !/ (or|not) /.test(label));
  const isGroup = dimensions.some((one) => one.kind === 'column' && one.table === table && one.column === column);
  return isOne || (isGroup && !share && ofGroups !== 'avg' && !(limited && order !== 'time'));
}
