import { expect, test } from '@jest/globals';
import { changesSignIn, endsCredentials, endsReset, grantsAdmin, leavesNoAdmin, revokesAdmin, type UserState } from './user-rules.ts';

const admin: UserState = { kind: 'person', role: 'admin', status: 'active', email: 'a@acme.example' };
const member: UserState = { kind: 'person', role: 'member', status: 'active', email: 'a@acme.example' };
const deactivated: UserState = { kind: 'person', role: 'admin', status: 'deactivated', email: 'a@acme.example' };
const application: UserState = { kind: 'service', role: 'admin', status: 'active', email: 'a@acme.example' };

test('the last active administrator can neither be demoted nor deactivated', () => {
  expect(leavesNoAdmin(admin, member, false)).toBe(true);
  expect(leavesNoAdmin(admin, deactivated, false)).toBe(true);
});

test('an administrator can leave while another remains, and a member or an application always', () => {
  expect(leavesNoAdmin(admin, member, true)).toBe(false);
  expect(leavesNoAdmin(member, { ...member, status: 'deactivated' }, false)).toBe(false);
  expect(leavesNoAdmin(application, { ...application, role: 'member' }, false)).toBe(false);
  expect(leavesNoAdmin(deactivated, member, false)).toBe(false);
  expect(leavesNoAdmin(admin, admin, false)).toBe(false);
});

test('a change revokes an administrator only if there was an active one before and not afterwards', () => {
  expect(revokesAdmin(admin, member)).toBe(true);
  expect(revokesAdmin(admin, deactivated)).toBe(true);
  expect(revokesAdmin(member, admin)).toBe(false);
  expect(revokesAdmin(admin, admin)).toBe(false);
});

test('a change makes an administrator if it gives the role, or activates a person who has it', () => {
  expect(grantsAdmin(member, admin)).toBe(true);
  expect(grantsAdmin({ ...member, status: 'deactivated' }, deactivated)).toBe(true);
  expect(grantsAdmin(deactivated, admin)).toBe(true);
  expect(grantsAdmin({ ...member, status: 'deactivated' }, member)).toBe(false);
  expect(grantsAdmin(admin, admin)).toBe(false);
  expect(grantsAdmin(admin, deactivated)).toBe(false);
});

test('an address is how a person signs in, active or not', () => {
  const email = 'b@acme.example';
  for (const state of [admin, deactivated, member]) {
    expect(changesSignIn(state, { ...state, email })).toBe(true);
    expect(changesSignIn(state, { ...state, role: 'member', email })).toBe(true);
    expect(changesSignIn(state, state)).toBe(false);
  }
  expect(changesSignIn(application, { ...application, email })).toBe(false);
});

test('a link to set a password ends with each change of the user that it was made for', () => {
  for (const change of [{ email: 'b@acme.example' }, { role: 'admin' }, { status: 'deactivated' }] as const)
    expect(endsReset(member, { ...member, ...change })).toBe(true);
  expect(endsReset(member, { ...member })).toBe(false);
});

test('only the step from active to deactivated ends credentials', () => {
  expect(endsCredentials(member, { ...member, status: 'deactivated' })).toBe(true);
  expect(endsCredentials(deactivated, admin)).toBe(false);
  expect(endsCredentials(deactivated, deactivated)).toBe(false);
  expect(endsCredentials(admin, member)).toBe(false);
});
