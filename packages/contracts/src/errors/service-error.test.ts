import { anyCharacter } from '@agent-service/testkit/properties';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { fromGrpcError, toGrpcError } from '../calls/wire.ts';
import { type ErrorCode, errorCodes } from './error-codes.ts';
import { cutText, invalidFields, ServiceError } from './service-error.ts';

const runs = { numRuns: Number(process.env['FC_RUNS'] ?? 300) };

/** The size that an HTTP/2 peer counts: names, values and 32 bytes for each field (RFC 9113, section 6.5.2). */
function trailerBytes(error: ServiceError): number {
  const { details = '', metadata } = toGrpcError(error);
  const fields = { 'grpc-status': '3', 'grpc-message': encodeURI(details), ...metadata?.toHttp2Headers() };
  return Object.entries(fields).reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(String(value)) + 32, 0);
}

const arrive = (error: ServiceError) => fromGrpcError(toGrpcError(error) as never);

const long = fc
  .tuple(
    fc.oneof(fc.string({ unit: anyCharacter, maxLength: 40 }), fc.constantFrom('\ud83d\ude00', '\ud800', '\0', '"\\', 'ä€')),
    fc.nat(4_000),
  )
  .map(([text, times]) => text.repeat(text === '' ? 0 : times));
const field = fc.record({ param: long, message: long });
const details = fc.oneof(
  fc.dictionary(fc.oneof(long, fc.constantFrom('errors', 'errors_omitted', '__proto__')), fc.anything({ withBigInt: true }), {
    maxKeys: 5,
  }),
  fc.record({ errors: fc.array(field, { maxLength: 60 }), granted: fc.array(long, { maxLength: 60 }), hint: long }, { requiredKeys: [] }),
);

describe('an error on the wire', () => {
  test('is within 8 kB for any thrown value, and arrives as it was sent', () => {
    const codes = Object.keys(errorCodes) as ErrorCode[];
    fc.assert(
      fc.property(fc.constantFrom(...codes), fc.option(long), fc.option(long), fc.option(details), (code, message, param, input) => {
        const error = new ServiceError(code, { message: message ?? undefined, param: param ?? undefined, details: input ?? undefined });
        expect(trailerBytes(error)).toBeLessThanOrEqual(8_192);
        const arrived = arrive(error);
        expect([arrived.code, arrived.message, arrived.param]).toEqual([error.code, error.message, error.param]);
        expect(JSON.stringify(arrived.details)).toBe(JSON.stringify(error.details));
      }),
      runs,
    );
  });

  test('names the first 20 of many faulty fields and counts the rest', () => {
    const errors = Array.from({ length: 195 }, (_, index) => ({ param: `tables[${index}]`, message: `tables[${index}] is unknown.` }));
    const error = arrive(invalidFields(errors));
    expect(error).toMatchObject({ param: 'tables[0]', message: 'tables[0] is unknown.' });
    expect(error.details).toEqual({ errors: errors.slice(0, 20), errors_omitted: 175 });
    expect(invalidFields(errors.slice(0, 20)).details).toEqual({ errors: errors.slice(0, 20) });
  });

  test('keeps the first faulty fields whole while they fit, and counts those that do not', () => {
    const errors = Array.from({ length: 30 }, (_, index) => ({ param: `tables[${index}]`, message: 'x'.repeat(900) }));
    const details = invalidFields(errors).details as { errors: unknown[]; errors_omitted?: number };
    expect(details.errors.length).toBeGreaterThan(2);
    expect(details.errors).toEqual(errors.slice(0, details.errors.length));
    expect(details.errors_omitted).toBe(30 - details.errors.length);
  });

  test('cuts a field error that would not fit at all', () => {
    const details = invalidFields([{ param: 'p'.repeat(10_000), message: '€'.repeat(10_000) }]).details as {
      errors: { param: string; message: string }[];
    };
    expect(details.errors[0]?.param).toMatch(/^p{100,}…$/);
    expect(details.errors[0]?.message).toMatch(/^€{100,}…$/);
  });

  test('leaves out what is no JSON', () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    expect(new ServiceError('internal', { details: { cycle, big: 1n, hint: 1 } }).details).toEqual({ hint: 1 });
  });
});

test('text is cut between characters, and only where it must be', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 8, max: 80 }), (text, maxBytes) => {
      const shortened = cutText(text, maxBytes);
      expect(Buffer.byteLength(JSON.stringify(shortened))).toBeLessThanOrEqual(maxBytes);
      if (shortened !== text) {
        expect(text.startsWith(shortened.slice(0, -1))).toBe(true);
        expect([shortened.isWellFormed(), shortened.endsWith('…'), Buffer.byteLength(JSON.stringify(text)) > maxBytes]).toEqual([
          true,
          true,
          true,
        ]);
      }
    }),
    runs,
  );
});
