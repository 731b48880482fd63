import { ServiceError } from '@agent-service/contracts';
import { fieldPath } from './validate.ts';

const maxPairs = 100;

/** The fields of a query string or form. A name given twice is refused: two parts of a system could read it differently. */
export function parsePairs(text: string): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  // Empty parts count as well: the split ends at the limit, so that a parameter behind it would be dropped silently.
  const parts = text.split('&', maxPairs + 1);
  if (parts.length > maxPairs) throw new ServiceError('invalid_request', { message: `Send at most ${maxPairs} parameters.` });
  for (const part of parts) if (part !== '') addPair(fields, part);
  return fields;
}

function addPair(fields: Record<string, string>, part: string): void {
  const at = part.indexOf('=');
  const name = decode(at === -1 ? part : part.slice(0, at));
  if (name in fields) {
    const param = fieldPath([name]);
    throw new ServiceError('invalid_request', { message: `${param} is given more than once.`, param });
  }
  fields[name] = at === -1 ? '' : decode(part.slice(at + 1));
}

function decode(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch (cause) {
    throw new ServiceError('invalid_request', { message: 'A parameter has invalid percent-encoding.', cause });
  }
}
