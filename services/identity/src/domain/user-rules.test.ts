import { expect, test } from '@jest/globals';
import { endsCredentials, leavesNoAdmin, revokesAdmin, type UserState } from './user-rules.ts';

const admin: UserState = { kind: 'person', role: 'admin', status: 'active' };
const member: UserState = { kind: 'person', role: 'member', status: 'active' };
const deactivated: UserState = { kind: 'person', role: 'admin', status: 'deactivated' };
const application: UserState = { kind: 'service', role: 'admin', status: 'active' };

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

test('only the step from active to deactivated ends credentials', () => {
  expect(endsCredentials(member, { ...member, status: 'deactivated' })).toBe(true);
  expect(endsCredentials(deactivated, admin)).toBe(false);
  expect(endsCredentials(deactivated, deactivated)).toBe(false);
  expect(endsCredentials(admin, member)).toBe(false);
});
