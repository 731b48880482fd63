/** UTF-16 units of JSON: as much as an audit entry should hold. */
export const longestKeys = 4_000;

/**
 * The primary keys in the input of a change, as a JSON array: the first of them that there is room for. Empty where the input names
 * none; an insert may call anything a key, since the database makes its own.
 */
export function keysOf(input: unknown): string {
  const { operation, rows } = fieldsOf(input);
  if ((operation !== 'update' && operation !== 'delete') || !Array.isArray(rows)) return '';
  let keys = '';
  for (const row of rows) {
    const { key } = fieldsOf(row);
    const more = `${keys === '' ? '' : `${keys},`}${JSON.stringify(fieldsOf(key))}`;
    if (more.length + 2 > longestKeys) break;
    keys = more;
  }
  return keys === '' ? '' : `[${keys}]`;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
