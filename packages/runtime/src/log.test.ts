import { expect, test } from '@jest/globals';
import { withoutSecrets } from './log.ts';

test('a field with the name of a secret is redacted at any depth, and the event itself is not changed', () => {
  const event = { event: 'x', token: 'a', more: { password: 'b', deeper: { api_key: 'c', id: 1 } }, list: ['d'] };
  expect(withoutSecrets(event)).toEqual({
    event: 'x',
    token: '[redacted]',
    more: { password: '[redacted]', deeper: { api_key: '[redacted]', id: 1 } },
    list: ['d'],
  });
  expect(event.more.deeper.api_key).toBe('c');
});

test('an event without secrets is written unchanged', () => {
  const event = { event: 'x', count: 1, err: new Error('token') };
  expect(withoutSecrets(event)).toBe(event);
});
