import { type FieldError, invalidFields } from '@agent-service/contracts';
import { fieldPath } from './field-path.ts';

type Path = readonly (string | number)[];

/**
 * Refuses what no field may hold: NUL and lone surrogates, which PostgreSQL and UTF-8 can't carry, in values and names alike, and
 * the name __proto__, which code that copies objects drops or takes for their prototype.
 * Reading the body has bounded how deep and how large the value is.
 */
export function checkText(value: unknown): void {
  const fault = findFault(value, []);
  if (fault) throw invalidFields([fault]);
}

function findFault(value: unknown, path: Path): FieldError | undefined {
  if (typeof value === 'string')
    return isPlain(value)
      ? undefined
      : { param: fieldPath(path), message: 'The text holds a NUL character or half of a surrogate pair. Send valid Unicode text.' };
  if (typeof value !== 'object' || value === null) return undefined;
  if (Object.hasOwn(value, '__proto__')) {
    const param = fieldPath([...path, '__proto__']);
    return { param, message: `${param} is not known here; remove it.` };
  }
  if (Array.isArray(value)) return firstFault(value.entries(), path);
  return (
    findFault(
      Object.keys(value).find((name) => !isPlain(name)),
      path,
    ) ?? firstFault(Object.entries(value), path)
  );
}

function firstFault(entries: Iterable<[string | number, unknown]>, path: Path): FieldError | undefined {
  for (const [key, value] of entries) {
    if (typeof value !== 'string' && typeof value !== 'object') continue;
    const fault = findFault(value, [...path, key]);
    if (fault) return fault;
  }
  return undefined;
}

const isPlain = (text: string) => !text.includes('\0') && text.isWellFormed();
