import { z } from 'zod';

/** Bounds of RFC 5321 and of names in the DNS, which `z.email()` leaves out. */
const [maxEmailLength, maxLocalPartLength, maxLabelLength] = [254, 64, 63];

/** True for an address that mail can be sent to. */
export function isEmailAddress(value: string): boolean {
  if (value.length > maxEmailLength || !z.email().safeParse(value).success) return false;
  const [localPart = '', domain = ''] = value.split('@');
  return (
    localPart.length <= maxLocalPartLength && domain.split('.').every((label) => label.length <= maxLabelLength && !label.endsWith('-'))
  );
}

/** For documents: the pattern of text that PostgreSQL can hold. Lone surrogates, which it can't hold either, are no Unicode text. */
export const plainText = String.raw`^[^\x00]*$`;

/** The beginning of a text, without NUL and lone surrogates, which PostgreSQL cannot hold. The limit is in UTF-16 units. */
export const toStorable = (value: string, maxLength = Number.POSITIVE_INFINITY): string =>
  value.slice(0, maxLength).toWellFormed().replaceAll('\0', '\ufffd');

/**
 * The content of the first fenced block whose first line matches, up to a line that closes it; undefined without one. Read line by line: a
 * pattern for the whole block would read the rest of a long text again for each opening that nothing closes.
 */
export function fencedBlock(markdown: string, opening: RegExp, closing: RegExp): string | undefined {
  const match = opening.exec(markdown);
  if (!match) return undefined;
  const lines = markdown.slice(match.index + match[0].length).split('\n');
  const end = lines.findIndex((line) => closing.test(line));
  return end < 0 ? undefined : lines.slice(0, end).join('\n');
}

/** Text of so many characters, counted as people count: by code points. */
export function text(min: number, max: number): z.ZodString {
  const message = min > 0 ? `must have ${min} to ${max} characters` : `must have at most ${max} characters`;
  return z
    .string()
    .refine((value) => isWithin(value, min, max), message)
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max, pattern: plainText });
}

function isWithin(value: string, min: number, max: number): boolean {
  // Code points are at least half as many as the units that length counts, so most texts need no counting.
  if (value.length < min || value.length > 2 * max) return false;
  if (value.length <= max && value.length >= 2 * min) return true;
  let count = 0;
  for (const _ of value) count += 1;
  return count >= min && count <= max;
}
