import { z } from 'zod';

/** A valid object of this schema, from the examples of its fields. */
export function exampleOf(schema: z.ZodObject): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema.shape).flatMap(([name, field]) => {
      const example = exampleIn(field as z.ZodType);
      return example === undefined ? [] : [[name, example]];
    }),
  );
}

function exampleIn(field: z.ZodType): unknown {
  const example = field.meta()?.example;
  if (example !== undefined) return example;
  const inner = field instanceof z.ZodOptional || field instanceof z.ZodDefault ? (field.unwrap() as z.ZodType) : undefined;
  return inner && exampleIn(inner);
}
