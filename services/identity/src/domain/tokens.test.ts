import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { grantScopes } from './tokens.ts';

const scopes = fc.uniqueArray(fc.constantFrom('a:read', 'a:write', 'b:read', 'b:write', 'c:chat'));

test('an empty request gets every available scope', () => {
  expect(grantScopes(['a:read', 'b:read'], '')).toEqual({ granted: ['a:read', 'b:read'] });
  expect(grantScopes(['a:read'], '  ')).toEqual({ granted: ['a:read'] });
});

test('a request gets exactly its scopes, or is refused with those that are not available', () => {
  fc.assert(
    fc.property(scopes, scopes, (available, requested) => {
      const grant = grantScopes(available, requested.join(' '));
      const beyond = requested.filter((scope) => !available.includes(scope));
      if (beyond.length > 0) expect(grant).toEqual({ refused: beyond });
      else expect(grant).toEqual({ granted: requested.length > 0 ? requested : available });
    }),
  );
});
