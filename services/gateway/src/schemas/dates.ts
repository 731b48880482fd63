import { ServiceError } from '@agent-service/contracts';
import { z } from 'zod';

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

export interface DateRange {
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
