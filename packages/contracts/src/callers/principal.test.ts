import { expect, test } from '@jest/globals';
import { allScopes, cutToRole, scopesOfRole } from './principal.ts';

test('a member is left with the scopes of a member, an administrator and an application with all of theirs', () => {
  const ofMember = ['agents:read', 'agents:write', 'agents:chat', 'templates:read', 'credits:read'];
  expect(cutToRole(allScopes, { role: 'member', environment: 'live' })).toEqual(ofMember);
  expect(cutToRole(['audit:read', 'agents:chat'], { role: 'member', environment: 'live' })).toEqual(['agents:chat']);
  for (const role of ['admin', ''] as const) expect(scopesOfRole({ role, environment: 'live' })).toEqual(allScopes);
  expect(cutToRole(['users:write', 'audit:read'], { role: '', environment: 'live' })).toEqual(['users:write', 'audit:read']);
});

test('nothing of the test environment changes users', () => {
  for (const role of ['admin', ''] as const)
    expect(scopesOfRole({ role, environment: 'test' })).toEqual(allScopes.filter((scope) => scope !== 'users:write'));
});
