import type { Pass } from '../meaning/pass.ts';
import { isLabel } from '../schema/roles.ts';
import { keysOfMany, pathTo } from '../schema/schema.ts';
import type { Value } from '../schema/value-index.ts';

/** True where the words beside a value say that it is one of other rows than those that hold it. */
export const isOfOtherRows = (pass: Pass, at: number, value: Value): boolean =>
  isOfOtherNoun(pass, at, value) || isOneEnd(pass, at, value) || isBelow(pass, at, value);

/** `Norwegian authors` are not the authors of books in Norwegian. */
const isOfOtherNoun = (pass: Pass, at: number, { table }: Value): boolean => {
  const tables = pass.tiles[at + 1]?.tables ?? [];
  return tables.length > 0 && tables.every((one) => !pathTo(pass.schema, one, table));
};

/** `transfers to Lyon`: two keys lead to warehouses, and nothing says which of them is the one to it. */
const isOneEnd = (pass: Pass, at: number, { table }: Value): boolean =>
  /^(to|into|from|towards?)$/.test(pass.tiles[at - 1]?.words.at(-1)?.lower ?? '') && keysOfMany(pass.schema, pass.base, table).length > 0;

const leadsToAbove = /^(parent|manager|supervisor|boss|reports?_to|referred_by)/i;

/** `employees who report to Ada`, `categories in Furniture`: rows below a row of the same table, and not that row itself. */
function isBelow(pass: Pass, at: number, { table, column }: Value): boolean {
  const { base, tiles } = pass;
  const word = tiles[at - 1]?.words.at(-1)?.lower ?? '';
  const isJoined =
    /^(to|into|from|under|below|beneath|for|by|in|within)$/.test(word) || (word === 'of' && tiles[at - 2]?.tables.includes(base));
  const reports = word === 'to' && tiles.slice(0, at - 1).some(({ words }) => /^report/.test(words[0]?.lower ?? ''));
  const isOwn = table === base.name && (isLabel(base, column) || reports);
  const hasAbove = base.foreignKeys.some((key) => key.table === base.name) || base.columns.some(({ name }) => leadsToAbove.test(name));
  return isJoined === true && isOwn && hasAbove;
}

/** `amount of payments` is that of every payment, also of invoices without a day of payment. */
export const namesOnlyRows = (pass: Pass, at: number): boolean =>
  pass.tiles[at]?.tables.includes(pass.base) === true && pass.dayAt(at)?.table !== pass.base;
