import { text } from '@agent-service/contracts/text';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isoDate, limit, pageRequest, toRange } from './list-query.ts';
import { email } from './user.ts';

describe('text', () => {
  test('lengths count code points', () => {
    const schema = text(2, 4);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-composite', maxLength: 8 }), (value) => {
        const length = [...value].length;
        expect(schema.safeParse(value).success).toBe(length >= 2 && length <= 4);
      }),
    );
    expect(text(1, 100).safeParse('😀'.repeat(100)).success).toBe(true);
    expect(text(1, 100).safeParse('😀'.repeat(101)).success).toBe(false);
  });
});

describe('limit', () => {
  const schema = limit(20, 100);

  test('is the default, a whole number within its bounds, or refused', () => {
    expect(schema.parse(undefined)).toBe(20);
    fc.assert(fc.property(fc.integer({ min: 1, max: 100 }), (value) => schema.parse(String(value)) === value));
    for (const value of ['', '0', '101', '-1', '1.5', '1e1', '0x10', ' 5', '5 ', '５', 'NaN'])
      expect(schema.safeParse(value).success).toBe(false);
  });
});

test('an empty cursor is not one', () => {
  expect(pageRequest({ limit: 5 })).toEqual({ limit: 5, cursor: '' });
  expect(() => pageRequest({ limit: 5, cursor: '' })).toThrow(expect.objectContaining({ code: 'invalid_cursor' }));
});

describe('dates', () => {
  test.each(['2026-01-31', '2026-01-31T10:00:00Z', '2026-01-31T10:00:00.123Z', '2026-01-31T10:00:00+02:00', '2024-02-29', '1970-01-01'])(
    '%s is one',
    (value) => {
      expect(isoDate.safeParse(value).success).toBe(true);
    },
  );

  test.each([
    '',
    '2026',
    '2026-1-1',
    '2026-02-30',
    '2025-02-29',
    '2026-01-31T10:00:00',
    '2026-01-31T25:00:00Z',
    '0000-01-01',
    '9999-12-31',
    '1969-12-31',
    'yesterday',
    '2026-01-31 10:00:00Z',
  ])('%j is none', (value) => {
    expect(isoDate.safeParse(value).success).toBe(false);
  });

  test('every day of these years is one, and no other', () => {
    for (const year of [1970, 1972, 1999, 2000, 2028, 2096, 2100, 2396, 2400, 2999])
      for (let month = 0; month <= 13; month += 1)
        for (let day = 0; day <= 32; day += 1) {
          const value = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
          const time = new Date(Date.UTC(year, month - 1, day)).toISOString();
          expect([value, isoDate.safeParse(value).success]).toEqual([value, time.startsWith(value)]);
        }
  });

  test('a date-only end includes its day', () => {
    expect(toRange({ date_from: '2026-01-31', date_to: '2026-01-31' })).toEqual({
      dateFrom: '2026-01-31T00:00:00.000Z',
      dateTo: '2026-02-01T00:00:00.000Z',
    });
    expect(toRange({ date_to: '2026-01-31T10:00:00+02:00' })).toEqual({ dateFrom: '', dateTo: '2026-01-31T08:00:00.000Z' });
  });

  test('from after to is refused', () => {
    for (const date_from of ['2026-02-02', '2026-02-01', '2026-02-01T00:00:00Z'])
      expect(() => toRange({ date_from, date_to: '2026-01-31' })).toThrow(
        expect.objectContaining({ code: 'invalid_request', param: 'date_from' }),
      );
    const time = '2026-01-31T10:00:00.000Z';
    expect(toRange({ date_from: time, date_to: time })).toEqual({ dateFrom: time, dateTo: time });
  });
});

test('e-mail addresses', () => {
  for (const value of ['ada@example.com', 'a.b+c@x.example.org']) expect(email.safeParse(value).success).toBe(true);
  const long = [`${'a'.repeat(65)}@example.com`, `ada@${'a'.repeat(64)}.com`, `${'a'.repeat(250)}@example.com`];
  for (const value of ['', 'ada', 'ada@', '@example.com', 'a b@example.com', 'ada@example-.com', ...long])
    expect(email.safeParse(value).success).toBe(false);
});
