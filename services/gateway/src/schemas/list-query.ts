import { ServiceError } from '@agent-service/contracts';
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

export const cursor = z.string().optional().meta({ description: 'Taken unchanged from `meta.next_cursor`, with the same filters.' });

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
    total: z.int().meta({ description: 'How many entries there are under the same filters.', example: 1 }),
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
const earliest = Date.UTC(1970, 0, 1);
const latest = Date.UTC(3000, 0, 1);
const dateOnly = /^\d{4}-\d{2}-\d{2}$/;

const isoForms = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/** A date or a time with its offset. */
export const isoDate = z
  .string()
  .refine(isKnown, 'must be a date like 2026-01-31 or a time like 2026-01-31T10:00:00Z, from 1970 to 2999')
  .meta({ example: '2026-01-31' });

function isKnown(value: string): boolean {
  const at = Date.parse(value);
  return isoForms.safeParse(value).success && at >= earliest && at < latest;
}

interface DateRange {
  readonly date_from?: string | undefined;
  readonly date_to?: string | undefined;
}

/** The range as two instants, the second not included; a date-only end includes its day. Empty where the range is open. */
export function toRange({ date_from, date_to }: DateRange): { dateFrom: string; dateTo: string } {
  const from = date_from === undefined ? undefined : Date.parse(date_from);
  const to = date_to === undefined ? undefined : Date.parse(date_to) + (dateOnly.test(date_to) ? dayMs : 0);
  if (from !== undefined && to !== undefined && from > to) {
    throw new ServiceError('invalid_request', { message: 'date_from must not be after date_to.', param: 'date_from' });
  }
  return { dateFrom: toIso(from), dateTo: toIso(to) };
}

const toIso = (at: number | undefined) => (at === undefined ? '' : new Date(at).toISOString());
