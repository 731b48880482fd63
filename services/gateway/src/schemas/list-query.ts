import { ServiceError } from '@agent-service/contracts';
import { plainText } from '@agent-service/contracts/text';
import { z } from 'zod';

const wholeNumber = /^\d{1,9}$/;

/** The page size: never clamped, so no caller gets fewer entries than requested without an error. */
export function limit(fallback: number, max: number) {
  return z
    .string()
    .refine((value) => wholeNumber.test(value) && Number(value) >= 1 && Number(value) <= max, `must be a whole number from 1 to ${max}`)
    .transform(Number)
    .default(fallback)
    .meta({
      description: 'How many entries to return.',
      // It arrives as text and means a number.
      override: ({ jsonSchema }) => Object.assign(jsonSchema, { type: 'integer', minimum: 1, maximum: max, default: fallback }),
    });
}

export const cursor = z
  .string()
  .optional()
  .meta({ description: 'Taken unchanged from `meta.next_cursor`, with the same filters.', minLength: 1, pattern: plainText });

interface PageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** The requested page for a service. An empty cursor would mean the first page there, so a caller may not send it. */
export function pageRequest(query: PageQuery) {
  if (query.cursor === '') throw new ServiceError('invalid_cursor', { param: 'cursor' });
  return { limit: query.limit, cursor: query.cursor ?? '' };
}

export const listMeta = z
  .strictObject({
    total: z.int().meta({
      description:
        'How many entries there are under the same filters. A search for agents with 1,000 matches or more, and a list of audit entries under filters, keep the count of their first page.',
      example: 1,
    }),
    next_cursor: z.string().nullable().meta({ description: 'Null on the last page.', example: null }),
    request_id: z.string().meta({ example: '4f3c1f6e-0a55-4c1e-8c53-0a5fbb1e4f0d' }),
  })
  .meta({ id: 'ListMeta' });

/** A page as services return it, as callers see it. */
export function toListMeta(page: { total: string; nextCursor: string } | null, requestId: string) {
  if (!page) throw new ServiceError('internal', { cause: new Error('a list came without its page') });
  return { total: Number(page.total), next_cursor: page.nextCursor || null, request_id: requestId };
}

const dayMs = 86_400_000;
const dateOnly = /^\d{4}-\d{2}-\d{2}$/;

// Every day of the years 1970 to 2999, and of none else, in words that all dialects of regular expressions share.
const leapYear = '(19([79][26]|8[048])|2([048]00|[0-9]([2468][048]|[13579][26]|0[48])))';
const monthDay = '((0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)';
const day = `((19[7-9][0-9]|2[0-9]{3})-${monthDay}|${leapYear}-02-29)`;
const minute = '([01][0-9]|2[0-3]):[0-5][0-9]';
const datePattern = `^${day}(T${minute}(:[0-5][0-9]([.][0-9]+)?)?(Z|[+-]${minute}))?$`;

/** A date or a time with its offset. The document has the same pattern. */
export const isoDate = z
  .string()
  .regex(new RegExp(datePattern), 'must be a date like 2026-01-31 or a time like 2026-01-31T10:00:00Z, from 1970 to 2999')
  .meta({ example: '2026-01-31' });

interface DateRange {
  readonly date_from?: string | undefined;
  readonly date_to?: string | undefined;
}

/** The range as two instants, the second not included; a date-only end includes its day. Empty where the range is open. */
export function toRange({ date_from, date_to }: DateRange): { dateFrom: string; dateTo: string } {
  const from = date_from === undefined ? undefined : Date.parse(date_from);
  const isDay = date_to !== undefined && dateOnly.test(date_to);
  const to = date_to === undefined ? undefined : Date.parse(date_to) + (isDay ? dayMs : 0);
  // The midnight at which a day ends is after it.
  if (from !== undefined && to !== undefined && (isDay ? from >= to : from > to)) {
    throw new ServiceError('invalid_request', { message: 'date_from must not be after date_to.', param: 'date_from' });
  }
  return { dateFrom: toIso(from), dateTo: toIso(to) };
}

const toIso = (at: number | undefined) => (at === undefined ? '' : new Date(at).toISOString());
