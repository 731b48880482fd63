import { expect, test } from '@jest/globals';
import { newId } from './ids.ts';

test('identifiers say what they name, are unique and sort by their making', () => {
  const ids = Array.from({ length: 10_000 }, () => newId('usr'));
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
  for (const id of ids) expect(id).toMatch(/^usr_[0-9a-z]{26}$/);
});
