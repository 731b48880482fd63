/**
 * Shallow enough for recursive code, as that which writes JSON, and for readers in other languages. Values of a database, and texts of a
 * model, may be nested as deep as they are long.
 */
export const maxJsonDepth = 64;

/** True for a value of at most so many levels of lists and objects. Stops at the level below. */
export function isWithinDepth(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((inner) => isWithinDepth(inner, depth - 1));
}

/** True when this holds for every number in a value. */
export function everyNumber(value: unknown, holds: (number: number) => boolean): boolean {
  if (typeof value === 'number') return holds(value);
  return typeof value !== 'object' || value === null || Object.values(value).every((inner) => everyNumber(inner, holds));
}
