import { isPlainObject } from '../routing/input.ts';

/** A JSON schema of a part of a body, before it becomes a part of the document. */
interface BodySchema {
  type?: unknown;
  format?: unknown;
  pattern?: unknown;
  additionalProperties?: unknown;
  properties?: Readonly<Record<string, unknown>>;
}

/**
 * States what generators of clients have to know of responses. Integers may exceed 32 bits, which several generators take without a format.
 * Later versions may add fields, which clients refuse where an object is closed. A pattern applies to text, and clients make dates of times.
 */
export function describeResponseSchema(schema: BodySchema): void {
  if (schema.type === 'integer') schema.format = 'int64';
  if (schema.additionalProperties === false) delete schema.additionalProperties;
  if (isTime(schema.format)) delete schema.pattern;
}

const isTime = (format: unknown) => format === 'date-time' || format === 'date';

/** Leaves out defaults that are objects, which some generators cannot write: each field of such an object has its own. */
export function describeRequestSchema({ properties = {} }: BodySchema): void {
  for (const field of Object.values(properties)) if (isPlainObject(field) && isPlainObject(field['default'])) delete field['default'];
}
