import { expect, test } from '@jest/globals';
import { checkId, checkItems, checkTenant, checkText } from './checks.ts';

const fault = (param: string) => expect.objectContaining({ code: 'invalid_request', param });

test('a tenant has an organization and is live or test', () => {
  expect(checkTenant({ organizationId: 'org_a', environment: 'live' })).toEqual({ organizationId: 'org_a', environment: 'live' });
  expect(() => checkTenant({ organizationId: 'org_a', environment: 'prod' })).toThrow(fault('environment'));
  expect(() => checkTenant({ organizationId: '', environment: 'test' })).toThrow(fault('organization_id'));
  expect(() => checkTenant(null)).toThrow(fault('organization_id'));
});

test('an id has 1 to 128 characters and no NUL', () => {
  expect(checkId('x'.repeat(128), 'hold_id')).toHaveLength(128);
  for (const id of ['', 'x'.repeat(129), 'a\0b']) expect(() => checkId(id, 'hold_id')).toThrow(fault('hold_id'));
});

test('a text has no more characters than it may have, counted as code points, and no NUL', () => {
  expect(checkText('😀😀', 'title', { max: 2 })).toBe('😀😀');
  expect(checkText('', 'title', { max: 2 })).toBe('');
  for (const text of ['😀😀😀', 'a\0']) {
    const message = 'title must have at most 2 characters and no NUL.';
    expect(() => checkText(text, 'title', { max: 2 })).toThrow(
      expect.objectContaining({ code: 'invalid_request', param: 'title', message }),
    );
  }
  const message = 'secret must have 2 to 3 characters and no NUL.';
  for (const text of ['😀', 'abcd'])
    expect(() => checkText(text, 'secret', { min: 2, max: 3 })).toThrow(expect.objectContaining({ message }));
});

test('a call has at most 1,000 items', () => {
  checkItems(Array(1_000));
  expect(() => checkItems(Array(1_001), 'events')).toThrow(fault('events'));
});
