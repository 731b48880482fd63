import type { z } from 'zod';
import { invalidInput } from './field-errors.ts';
import { checkText } from './plain-text.ts';

const options = { reportInput: true };

/** The value as the schema has it, or an error that names every faulty field. */
export function validate<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  checkText(value);
  const result = schema.safeParse(value, options);
  if (!result.success) throw invalidInput(result.error.issues);
  return result.data;
}
