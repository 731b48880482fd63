import { expect } from '@jest/globals';
import { errorEnvelope } from '../../src/schemas/errors.ts';
import type { Answer } from './http.ts';

/** Expects an error of this status and code, in the form of all errors. */
export function expectError(answer: Answer, status: number, code: string): void {
  expect({ status: answer.status, code: answer.body?.error?.code, text: answer.text }).toMatchObject({ status, code });
  expect(errorEnvelope.safeParse(answer.body).error).toBeUndefined();
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(answer.headers.get('x-request-id')).toBe(answer.body.meta.request_id);
  expect(answer.headers.get('cache-control')).toBe('no-store');
}
