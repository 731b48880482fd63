import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { grantScopes } from './scope-grant.ts';

const scopes = fc.uniqueArray(fc.constantFrom('a:read', 'a:write', 'b:read', 'b:write', 'c:chat'));

test('no request gets everything that is available', () => {
  expect(grantScopes(['a:read', 'b:read'], '')).toEqual({ granted: ['a:read', 'b:read'] });
  expect(grantScopes(['a:read'], '  ')).toEqual({ granted: ['a:read'] });
});

test('a request gets exactly what it asks for or is refused as a whole', () => {
  fc.assert(
    fc.property(scopes, scopes, (available, requested) => {
      const grant = grantScopes(available, requested.join(' '));
      const beyond = requested.filter((scope) => !available.includes(scope));
      if (beyond.length > 0) expect(grant).toEqual({ refused: beyond });
      else expect(grant).toEqual({ granted: requested.length > 0 ? requested : available });
    }),
  );
});
