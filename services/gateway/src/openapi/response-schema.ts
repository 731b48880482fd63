/** A JSON schema of a part of a response, before it becomes a part of the document. */
interface ResponseSchema {
  type?: unknown;
  format?: unknown;
  additionalProperties?: unknown;
}

/**
 * States what generators of clients have to know of responses. Integers may exceed 32 bits, which several generators take without a format.
 * Later versions may add fields, which clients refuse where an object is closed.
 */
export function describeResponseSchema(schema: ResponseSchema): void {
  if (schema.type === 'integer') schema.format = 'int64';
  if (schema.additionalProperties === false) delete schema.additionalProperties;
}
