import { type FieldError, invalidFields, ServiceError } from '@agent-service/contracts';
import type { z } from 'zod';

const options = { reportInput: true };

/** The value as the schema has it, or an error that names every faulty field. */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  checkText(value);
  const result = schema.safeParse(value, options);
  if (!result.success) throw invalidInput(result.error.issues);
  return result.data;
}

type Issue = z.core.$ZodIssue;

/** The error for a schema's issues: it names each field and what to do. */
function invalidInput(issues: readonly Issue[]): ServiceError {
  const errors = issues.filter((issue) => !isOverruled(issue, issues)).flatMap(fieldErrors);
  // The whole value is of the wrong kind, so there is no field to name.
  if (errors[0]?.param === '') return new ServiceError('invalid_request', { message: `The body ${errors[0].message}.` });
  return invalidFields(errors.map(({ param, message }) => ({ param, message: `${param} ${message}.` })));
}

/** Zod holds whole numbers within the safe integers, and says so in a note. The bound of the field itself is the one to keep to. */
const isOverruled = (issue: Issue, issues: readonly Issue[]): boolean =>
  'note' in issue &&
  issues.some((other) => other !== issue && other.code === issue.code && fieldPath(other.path) === fieldPath(issue.path));

function fieldErrors(issue: Issue): FieldError[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ param: fieldPath([...issue.path, key]), message: 'is not known here; remove it' }));
  return [{ param: fieldPath(issue.path), message: describe(issue) }];
}

const article = (noun: string) => (/^[aeio]/.test(noun) ? `an ${noun}` : `a ${noun}`);
const kinds: Record<string, string> = { int: 'whole number', record: 'object' };

function describe(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined && issue.path.length > 0
        ? 'is required'
        : `must be ${article(kinds[issue.expected] ?? issue.expected)}`;
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`;
    case 'too_big':
      return `must ${amount(issue.origin, 'at most', issue.maximum)}`;
    case 'too_small':
      return `must ${amount(issue.origin, 'at least', issue.minimum)}`;
    case 'custom':
    case 'invalid_format':
      return issue.message;
    default:
      return 'is not valid';
  }
}

function amount(origin: string, bound: string, limit: number | bigint): string {
  if (origin === 'array') return `have ${bound} ${limit} entries`;
  return origin === 'string' ? `have ${bound} ${limit} characters` : `be ${bound} ${limit}`;
}

/** A longer path contains a name that the caller chose; it is cut. */
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
