import { ServiceError } from '@agent-service/contracts';
import { expect, test } from '@jest/globals';
import { classifyDatabaseFailure, translateFailure } from './sql.ts';

test.each(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTDOWN'])('%s says that the database is away', (code) => {
  const failure = translateFailure(Object.assign(new Error('getaddrinfo or connect'), { code }));
  expect(failure).toBeInstanceOf(ServiceError);
  expect(failure).toHaveProperty('code', 'unavailable');
  expect(classifyDatabaseFailure(failure)).toBe('all');
});

test('a transaction that the server ended for its length may pass later, and is the fault of its items', () => {
  const failure = translateFailure(Object.assign(new Error('terminating connection due to transaction timeout'), { code: '25P04' }));
  expect(failure).toHaveProperty('code', 'unavailable');
  expect(classifyDatabaseFailure(failure)).toBe('slow');
});

test('any other failure is returned unchanged', () => {
  const cause = Object.assign(new Error('division by zero'), { code: '22012' });
  expect(translateFailure(cause)).toBe(cause);
});
