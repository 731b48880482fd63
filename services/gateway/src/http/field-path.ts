/** Enough for every name that is ours; a caller's own may be of any length. */
const maxLength = 100;

/** A path as callers write it: `data_scope.tables[0]`. */
export function fieldPath(path: readonly PropertyKey[]): string {
  const text = path.reduce<string>((before, key) => {
    if (typeof key === 'number') return `${before}[${key}]`;
    // A name that is empty would not be seen.
    const name = String(key) || '""';
    return before === '' ? name : `${before}.${name}`;
  }, '');
  return text.length <= maxLength ? text : `${text.slice(0, maxLength).toWellFormed()}…`;
}
