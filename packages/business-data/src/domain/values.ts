/** A value as callers get it. Numbers that JavaScript would round stay text. */
export type Value = null | boolean | number | string | readonly unknown[] | { readonly [key: string]: unknown };

export type ValueType = 'boolean' | 'number' | 'date' | 'timestamp' | 'json' | 'text';

/** By the type's number in pg_catalog, which is the same in every database. */
const types: ReadonlyMap<number, ValueType> = new Map([
  [16, 'boolean'],
  ...[20, 21, 23, 26, 700, 701, 1700].map((id) => [id, 'number'] as const),
  [1082, 'date'],
  [1114, 'timestamp'],
  [1184, 'timestamp'],
  [114, 'json'],
  [3802, 'json'],
]);

export const valueTypeOf = (typeId: number): ValueType => types.get(typeId) ?? 'text';

/** From PostgreSQL's text format. */
export function toValue(text: string | null, type: ValueType): Value {
  if (text === null) return null;
  if (type === 'boolean') return text === 't';
  if (type === 'number') return toNumber(text);
  if (type === 'json') return JSON.parse(text) as Value;
  return text;
}

/** A double keeps every decimal of so many digits. */
const exactDigits = 15;

/**
 * True when the numbers of a JSON value, at any depth, kept all their digits, as far as a double can tell: 1.00000000000000001 has become 1
 * and passes.
 */
export function isExact(value: unknown): boolean {
  if (typeof value === 'number')
    return Number.isInteger(value) ? Number.isSafeInteger(value) : digitsOf(String(value)).length <= exactDigits;
  return typeof value !== 'object' || value === null || Object.values(value).every(isExact);
}

const digitsOf = (number: string): string => number.replace(/e.*$/i, '').replace(/\D/g, '').replace(/^0+/, '');

function toNumber(text: string): number | string {
  const value = Number(text);
  return Number.isFinite(value) && (digitsOf(text).length <= exactDigits || String(value) === text) ? value : text;
}
