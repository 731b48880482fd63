import { describe, expect, test } from '@jest/globals';
import { parseNodes } from './settings.ts';

const plain = { host: 'one', port: 6379, username: undefined, password: undefined, db: 0, tls: false };

describe('REDIS_URL', () => {
  test.each([
    ['redis://one', [plain]],
    ['rediss://me:s%40cret@one:7000/3', [{ ...plain, port: 7000, username: 'me', password: 's@cret', db: 3, tls: true }]],
    ['redis://[::1]:7000', [{ ...plain, host: '::1', port: 7000 }]],
    [
      'redis://one:7000, two:7001,three',
      [
        { ...plain, port: 7000 },
        { ...plain, host: 'two', port: 7001 },
        { ...plain, host: 'three' },
      ],
    ],
    [
      'redis://:p@one,[::1]:7001',
      [
        { ...plain, password: 'p' },
        { ...plain, host: '::1', port: 7001, password: 'p' },
      ],
    ],
    ['redis://one,rediss://:p@two', [plain, { ...plain, host: 'two', password: 'p', tls: true }]],
  ])('%s is understood', (text, nodes) => {
    expect(parseNodes(text)).toEqual(nodes);
  });

  test.each([
    ['http://user:hidden@one', 'must be a URL that begins with redis:// or rediss://'],
    ['one:6379', 'must be a URL that begins with redis:// or rediss://'],
    ['', 'must be a URL that begins with redis:// or rediss://'],
    ['redis://', 'must be a URL that begins with redis:// or rediss://|must name a host'],
    ['redis://one/zero', 'must end in the number of a database, or in none'],
    ['redis://one?db=hidden', 'must not have a query or a fragment'],
    ['redis://one,', 'must be nodes like redis://one:6379,two:6379'],
    ['redis://one,two/3', 'must be nodes like redis://one:6379,two:6379'],
    ['redis://one,hidden@two', 'must be nodes like redis://one:6379,two:6379'],
    ['redis://one,two:99999', 'must be a URL that begins with redis:// or rediss://'],
    ['redis://:%zz@one', 'must have its credentials percent-encoded'],
  ])('%s is refused with a sentence that shows no value', (text, sentence) => {
    expect(() => parseNodes(text)).toThrow(new RegExp(`^(${sentence})$`));
  });
});
