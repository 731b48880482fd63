import { maxCommentLength, maxLabels } from '../scope/catalog.ts';

/**
 * Checks the rows that the statements of a survey return. A server may send anything in their place, and the work that follows from a table is
 * bounded by these limits, so a survey with a row that PostgreSQL cannot send is refused as a whole.
 */

/** Limits of PostgreSQL: the columns of a table, those of a key, and the letters of a name. */
const maxColumns = 1_600;
const maxKeyColumns = 32;
const maxLetters = 63;
/** A type has the names of its schema and its own, in which each letter may be a quote, and its modifiers. */
const maxTypeLetters = 500;
/** UTF-16 has up to two units for a character. */
const maxCommentUnits = 2 * maxCommentLength;

type Check = (value: unknown) => boolean;

const isBoolean: Check = (value) => typeof value === 'boolean';
const isNumber: Check = (value) => typeof value === 'number';
const text =
  (maxLength: number): Check =>
  (value) =>
    typeof value === 'string' && value.length <= maxLength;
const list =
  (isItem: Check, maxLength = Number.POSITIVE_INFINITY): Check =>
  (value) =>
    Array.isArray(value) && value.length <= maxLength && value.every(isItem);
const oneOf =
  (...values: readonly unknown[]): Check =>
  (value) =>
    values.includes(value);
const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

/** These fields and no others. */
function fields(checks: Readonly<Record<string, Check>>): Check {
  const entries = Object.entries(checks);
  return (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).length === entries.length &&
    entries.every(([name, check]) => check((value as Record<string, unknown>)[name]));
}

const isName = text(maxLetters);
const isKey = list(isName, maxKeyColumns);
const isType = text(maxTypeLetters);
const isComment = orNull(text(maxCommentUnits));

const isColumn = fields({
  name: isName,
  type: isType,
  nullable: isBoolean,
  baseType: orNull(isType),
  generated: isBoolean,
  groupable: isBoolean,
  comment: isComment,
  labels: orNull(list(isName, maxLabels)),
});

const isTable = fields({
  schema: isName,
  name: isName,
  kind: oneOf('table', 'view'),
  needsFence: isBoolean,
  comment: isComment,
  columns: list(isColumn, maxColumns),
  primaryKey: isKey,
  foreignKeys: list(fields({ columns: isKey, schema: isName, table: isName, references: isKey })),
  approximateRows: orNull(isNumber),
});

const isFollowing = oneOf('delete', 'update', null);

export const isAccount = fields({ schema: orNull(isName), power: orNull(text(2 * maxLetters)), mayMakeRoles: isBoolean });

export const isTableRow = fields({ table: isTable, dependsOnAccount: isBoolean, total: isNumber });

export const isEffect = fields({
  schema: isName,
  table: isName,
  onDelete: isFollowing,
  onUpdate: isFollowing,
  columns: orNull(isKey),
  sets: isKey,
  reaches: list(fields({ schema: isName, name: isName })),
});
