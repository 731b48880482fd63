import { expect, test } from '@jest/globals';
import { symbols } from 'pino';
import { createLogger, describeError, withoutSecrets } from './log.ts';

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

test('an error is written with its code and causes, and without the command or row that failed', () => {
  const refused = Object.assign(new Error('ERR max number of clients reached'), {
    command: { name: 'hello', args: ['3', 'AUTH', 'user', 'hunter2'] },
  });
  const violated = Object.assign(new Error('null value in column "id"', { cause: refused }), {
    code: '23502',
    table: 'agents',
    detail: 'Failing row contains (null, hunter2).',
    where: 'PL/pgSQL function hunter2() line 1',
    request: { body: 'hunter2' },
    password: 'hunter2',
  });
  const described = describeError(new AggregateError([violated, refused], 'both failed'));
  expect(described).toMatchObject({
    type: 'AggregateError',
    message: 'both failed',
    stack: expect.stringContaining('log.test'),
    aggregateErrors: [
      { code: '23502', table: 'agents', message: 'null value in column "id": ERR max number of clients reached' },
      { type: 'Error', message: 'ERR max number of clients reached' },
    ],
  });
  expect(JSON.stringify(described)).not.toContain('hunter2');
  const logger = createLogger('test', 'silent') as unknown as Record<symbol, unknown>;
  expect(logger[symbols.serializersSym]).toHaveProperty('err', describeError);
});

test('an error has some tens of kilobytes in the log at most, however long its texts are and however many errors it combines', () => {
  const long = 'x'.repeat(400_000);
  const cause = Object.assign(new Error(long), { code: long });
  const described = JSON.stringify(describeError(new AggregateError([cause], long, { cause })));
  expect(described.length).toBeLessThan(50_000);
  expect(described).toContain('AggregateError: xxx');
  const combined = Array.from({ length: 30 }, () => Object.assign(new AggregateError(Array(30).fill(cause), long), { code: long }));
  expect(JSON.stringify(describeError(new AggregateError(combined, long))).length).toBeLessThan(50_000);
});
