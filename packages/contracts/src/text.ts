import { z } from 'zod';

/** Text of so many characters, counted as people count: by code points. */
export function text(min: number, max: number): z.ZodString {
  const message = min > 0 ? `must have ${min} to ${max} characters` : `must have at most ${max} characters`;
  return z
    .string()
    .refine((value) => isWithin(value, min, max), message)
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max });
}

function isWithin(value: string, min: number, max: number): boolean {
  // Code points are at least half as many as the units that length counts, so most texts need no counting.
  if (value.length < min || value.length > 2 * max) return false;
  if (value.length <= max && value.length >= 2 * min) return true;
  let count = 0;
  for (const _ of value) count += 1;
  return count >= min && count <= max;
}
