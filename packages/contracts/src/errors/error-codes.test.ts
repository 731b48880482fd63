import { readFileSync } from 'node:fs';
import { status } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { fromGrpcError, toGrpcError } from '../calls/wire.ts';
import { type ErrorCode, errorCodes, isPublicErrorCode, publicErrorCodes } from './error-codes.ts';
import { ServiceError } from './service-error.ts';

const document = readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8');

test('docs/errors.md lists exactly the public codes, with status, type and message', () => {
  const rows = [...document.matchAll(/^\| `(\w+)` \| (\d+) \| `(\w+)` \| (.*) \|$/gm)].map(([, ...cells]) => cells);
  expect(rows).toEqual(Object.entries(publicErrorCodes).map(([code, { http, type, message }]) => [code, String(http), type, message]));
});

test('codes between services are not public', () => {
  const internal = Object.keys(errorCodes).filter((code) => !isPublicErrorCode(code));
  expect(internal.sort()).toEqual([
    'attempt_superseded',
    'cancelled',
    'hold_not_found',
    'hold_released',
    'hold_settled',
    'idempotency_conflict',
    'issue_limit_reached',
    'outcomes_not_saved',
    'service_forbidden',
  ]);
});

const sent = (error: ServiceError) => fromGrpcError(toGrpcError(error) as never);

test.each(Object.keys(errorCodes) as ErrorCode[])('%s arrives at the calling service as it was sent', (code) => {
  const { code: received, message, definition } = sent(new ServiceError(code, { param: 'name' }));
  expect([received, message, definition]).toEqual([code, errorCodes[code].message, errorCodes[code]]);
});

test('a code that is not in the list arrives as internal', () => {
  const unknown = { code: 'of_another_version', message: '', param: null, details: {}, definition: errorCodes.not_found };
  const trailer = toGrpcError(unknown as unknown as ServiceError);
  expect(fromGrpcError({ ...trailer, code: status.NOT_FOUND } as never).code).toBe('internal');
});
