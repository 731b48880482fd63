import type { Intent } from '../meaning/intent.ts';
import type { Vocabulary } from '../meaning/tiles.ts';
import { currencyColumn, isMoney, numbersOf } from '../schema/roles.ts';
import { reachable } from '../schema/schema.ts';
import { spoken } from '../words/words.ts';

/** Why the amounts of a question cannot be added up, averaged or ranked: they are in several currencies, and it does not choose one. */
export function mixedCurrencies(intent: Intent, { schema, index }: Vocabulary): string | undefined {
  if (!combinesAmounts(intent)) return undefined;
  for (const table of reachable(intent.base, schema)) {
    const column = currencyColumn(table);
    // The currency of a country is not that of orders from it.
    if (!column || (table !== intent.base && !numbersOf(table).some(isMoney))) continue;
    const currencies = [...new Set(index.fewOf(table.name, column.name).map((value) => value.toUpperCase()))];
    if (currencies.length < 2 || separates(intent, table.name, column.name)) return undefined;
    const names = currencies.length > maxNamed ? 'several currencies' : currencies.join(' and ');
    return `The amounts are in ${names} (${spoken(column.name)} of ${spoken(table.name)}): ask for one of them, or by ${spoken(column.name)}`;
  }
  return undefined;
}

const maxNamed = 5;

/** Amounts of several rows make the figure, or the order in which rows are cut off. */
function combinesAmounts({ shape, operation, quantity, base, orderBy, limited }: Intent): boolean {
  const isAmount = quantity !== undefined && (quantity.unit === 'money' || quantity.per !== undefined);
  if (shape === 'figure') return isAmount && (operation !== 'count' || quantity.per !== undefined);
  const ordered = orderBy?.column.sql((_, column) => column);
  return limited && orderBy !== undefined && (isAmount || numbersOf(base).some((one) => one.name === ordered && isMoney(one)));
}

/** One currency is chosen, or each has a group of its own that is not compared with the others. */
function separates({ conditions, dimensions, limited, order, share, ofGroups }: Intent, table: string, column: string): boolean {
  const isOne = conditions.some(({ key, label }) => key === `${table}.${column}` && !/ (or|not) /.test(label));
  const isGroup = dimensions.some((one) => one.kind === 'column' && one.table === table && one.column === column);
  return isOne || (isGroup && !share && ofGroups !== 'avg' && !(limited && order !== 'time'));
}
