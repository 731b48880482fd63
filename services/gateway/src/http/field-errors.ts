import { type FieldError, invalidFields, ServiceError } from '@agent-service/contracts';
import type { z } from 'zod';
import { fieldPath } from './field-path.ts';

type Issue = z.core.$ZodIssue;

/** What a schema found, told to the caller: which field, and what to do about it. */
export function invalidInput(issues: readonly Issue[]): ServiceError {
  const errors = issues.flatMap(fieldErrors);
  // The whole value is of the wrong kind, so there is no field to name.
  if (errors[0]?.param === '') return new ServiceError('invalid_request', { message: `The body ${errors[0].message}.` });
  return invalidFields(errors.map(({ param, message }) => ({ param, message: `${param} ${message}.` })));
}

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
