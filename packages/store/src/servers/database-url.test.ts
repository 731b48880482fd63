import { describe, expect, test } from '@jest/globals';
import { databaseUrl, roleOf, serverUrls, withAddress, withoutOptions, withRole } from './database-url.ts';

describe('a database URL', () => {
  test.each([
    ['postgres://u:p@one:5433/db?sslmode=verify-full', ['postgres://u:p@one:5433/db?sslmode=verify-full']],
    ['postgresql://u:p@one,two:5433/db', ['postgresql://u:p@one/db', 'postgresql://u:p@two:5433/db']],
    [
      'postgres://u:p%40%2C@one:1,[::1]:2/db?target_session_attrs=read-write&sslmode=require',
      ['postgres://u:p%40%2C@one:1/db?sslmode=require', 'postgres://u:p%40%2C@[::1]:2/db?sslmode=require'],
    ],
    ['postgres://one/db?target_session_attrs=primary', ['postgres://one/db']],
    ['postgres://u:old@one/db postgres://u:new@one/db', ['postgres://u:old@one/db', 'postgres://u:new@one/db']],
  ])('%s names its servers', (url, servers) => {
    expect(databaseUrl().safeParse(url).success).toBe(true);
    expect(serverUrls(url)).toEqual(servers);
  });

  test.each([
    ['mysql://u:hidden@one/db', 'must be a URL that begins with postgres:// or postgresql://'],
    ['postgres://u:hidden@one:99999,two/db', 'must be a URL that begins with postgres:// or postgresql://'],
    ['postgres://u:hidden@one,two/db?target_session_attrs=standby', 'must have target_session_attrs=read-write or none'],
  ])('%s is refused with a sentence that shows no value', (url, sentence) => {
    expect(
      databaseUrl()
        .safeParse(url)
        .error?.issues.map(({ message }) => message),
    ).toEqual([sentence]);
  });

  test('has another role or address with the same servers, database and parameters', () => {
    const url = 'postgres://u:p@one,two:5433/db?sslmode=require';
    expect(withRole(url, 'other role', 'a/b@c')).toBe('postgres://other%20role:a%2Fb%40c@one,two:5433/db?sslmode=require');
    expect(withAddress('postgres://u:old@one,two/db postgres://u:new@one/db', 'pooler:1')).toBe(
      'postgres://u:old@pooler:1/db postgres://u:new@pooler:1/db',
    );
    expect(withRole('postgres://one/db', 'other', 'secret')).toBe('postgres://other:secret@one/db');
    expect(withAddress(url, 'pooler:6432')).toBe('postgres://u:p@pooler:6432/db?sslmode=require');
    expect(withoutOptions('postgres://one/db?options=-c%20search_path%3Da&sslmode=require')).toBe('postgres://one/db?sslmode=require');
    expect(roleOf('postgres://a%40b:p@one,two/db')).toBe('a@b');
  });
});
