import { expect, test } from '@jest/globals';
import { withoutSecrets } from './log.ts';

test('what stands under the name of a secret is never written, however deep, and the event itself is left alone', () => {
  const event = { event: 'x', token: 'a', more: { password: 'b', deeper: { api_key: 'c', id: 1 } }, list: ['d'] };
  expect(withoutSecrets(event)).toEqual({
    event: 'x',
    token: '[redacted]',
    more: { password: '[redacted]', deeper: { api_key: '[redacted]', id: 1 } },
    list: ['d'],
  });
  expect(event.more.deeper.api_key).toBe('c');
});

test('an event without secrets is written as it is', () => {
  const event = { event: 'x', count: 1, err: new Error('token') };
  expect(withoutSecrets(event)).toBe(event);
});
