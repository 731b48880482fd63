/** A JSON schema of a part of an answer, before it becomes a part of the document. */
interface AnswerSchema {
  type?: unknown;
  format?: unknown;
}

/** States what generators of clients have to know of answers. Integers may exceed 32 bits, which several generators take without a format. */
export function describeAnswerSchema(schema: AnswerSchema): void {
  if (schema.type === 'integer') schema.format = 'int64';
}
