import { expect, test } from '@jest/globals';
import { changedValues, isEmpty } from './changes.ts';

const before = { name: 'Ada', limit: null as number | null, scopes: ['agents:read', 'agents:chat'] };

test('only the values that differ are changed ones, with the values after the change', () => {
  expect(changedValues(before, { name: 'Ada', limit: 300 })).toEqual({ limit: 300 });
  expect(changedValues({ ...before, limit: 300 }, { limit: null })).toEqual({ limit: null });
});

test('lists are compared item by item, in their order', () => {
  expect(changedValues(before, { scopes: ['agents:read', 'agents:chat'] })).toEqual({});
  expect(changedValues(before, { scopes: ['agents:chat', 'agents:read'] })).toEqual({ scopes: ['agents:chat', 'agents:read'] });
  expect(changedValues(before, { scopes: ['agents:read'] })).toEqual({ scopes: ['agents:read'] });
});

test('a value that is undefined names none', () => {
  const changed = changedValues(before, { name: undefined, limit: null });
  expect(Object.keys(changed)).toEqual([]);
  expect(isEmpty(changed)).toBe(true);
});
