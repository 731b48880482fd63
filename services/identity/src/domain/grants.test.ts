import { allScopes, scopesOfRole } from '@agent-service/contracts';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { grantCredentialScopes, grantTokenScopes } from './grants.ts';

const subset = fc.subarray([...allScopes]);

describe('the scopes of a credential that a caller creates', () => {
  test('are never beyond the caller or the role of the user', () => {
    fc.assert(
      fc.property(fc.option(subset, { nil: undefined }), subset, subset, (requested, caller, role) => {
        const grant = grantCredentialScopes(requested, { caller, role });
        if ('refused' in grant) {
          expect(grant.refused.length).toBeGreaterThan(0);
          return;
        }
        for (const scope of grant.granted) expect([caller.includes(scope as never), role.includes(scope as never)]).toEqual([true, true]);
        if (requested) expect([...grant.granted].sort()).toEqual([...requested].sort());
      }),
    );
  });

  test('are all that caller and role share unless some are requested, and nothing is dropped silently', () => {
    const limits = { caller: ['agents:read', 'users:read'], role: scopesOfRole({ role: 'member', environment: 'live' }) };
    expect(grantCredentialScopes(undefined, limits)).toEqual({ granted: ['agents:read'] });
    expect(grantCredentialScopes(['agents:read', 'users:read'], limits)).toEqual({ refused: ['users:read'], limit: 'role' });
    expect(grantCredentialScopes(['agents:read', 'audit:read'], limits)).toEqual({ refused: ['audit:read'], limit: 'caller' });
    expect(grantCredentialScopes(undefined, { ...limits, caller: [] })).toEqual({ granted: [] });
  });
});

describe('the scopes of a token', () => {
  const scopes = fc.uniqueArray(fc.constantFrom('a:read', 'a:write', 'b:read', 'b:write', 'c:chat'));

  test('an empty request gets every available scope', () => {
    expect(grantTokenScopes(['a:read', 'b:read'], '')).toEqual({ granted: ['a:read', 'b:read'] });
    expect(grantTokenScopes(['a:read'], '  ')).toEqual({ granted: ['a:read'] });
  });

  test('a request gets exactly its scopes, or is refused with those that are not available', () => {
    fc.assert(
      fc.property(scopes, scopes, (available, requested) => {
        const grant = grantTokenScopes(available, requested.join(' '));
        const beyond = requested.filter((scope) => !available.includes(scope));
        if (beyond.length > 0) expect(grant).toEqual({ refused: beyond });
        else expect(grant).toEqual({ granted: requested.length > 0 ? requested : available });
      }),
    );
  });
});

test('a scope that is requested twice is granted once', () => {
  const limits = { caller: ['agents:read'], role: ['agents:read'] };
  expect(grantCredentialScopes(['agents:read', 'agents:read'], limits)).toEqual({ granted: ['agents:read'] });
});
