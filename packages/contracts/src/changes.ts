type Changed<Values> = { -readonly [Name in keyof Values]?: Exclude<Values[Name], undefined> };

/**
 * The named values that differ from those before, with which a change is written, audited and reported. A value that is undefined names
 * none. Lists are compared item by item, in their order.
 */
export function changedValues<Values extends object>(
  before: { readonly [Name in keyof Values]?: unknown },
  values: Values,
): Changed<Values> {
  const names = Object.keys(values) as (keyof Values)[];
  const changed = names.filter((name) => values[name] !== undefined && !isEqual(values[name], before[name]));
  return Object.fromEntries(changed.map((name) => [name, values[name]])) as Changed<Values>;
}

const isEqual = (one: unknown, other: unknown): boolean =>
  Array.isArray(one) && Array.isArray(other)
    ? one.length === other.length && one.every((value, index) => value === other[index])
    : one === other;

/** True when no value differs. */
export const isEmpty = (values: object): boolean => Object.keys(values).length === 0;
