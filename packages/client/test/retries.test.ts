import { publicErrorCodes } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import { toApiError } from '../src/errors.ts';
import { retryPauseMs } from '../src/retries.ts';

/** The errors of the API after which the same request may succeed. */
const passing = [
  'deadline_exceeded',
  'idempotency_in_progress',
  'internal',
  'rate_limited',
  'request_timeout',
  'too_many_waiting',
  'unavailable',
];

test('a request is repeated after the errors that pass by themselves, and after no other', () => {
  const repeated = Object.entries(publicErrorCodes).filter(([code, { type, http }]) => {
    const error = toApiError(http, new Headers(), JSON.stringify({ error: { code, type } }));
    return retryPauseMs(error, 0, {}) !== undefined;
  });
  expect(repeated.map(([code]) => code).toSorted()).toEqual(passing);
});
