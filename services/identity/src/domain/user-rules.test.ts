import { expect, test } from '@jest/globals';
import { endsCredentials, leavesNoAdmin, type Standing, unseatsAdmin } from './user-rules.ts';

const admin: Standing = { kind: 'person', role: 'admin', status: 'active' };
const member: Standing = { kind: 'person', role: 'member', status: 'active' };
const retired: Standing = { kind: 'person', role: 'admin', status: 'deactivated' };
const application: Standing = { kind: 'service', role: 'admin', status: 'active' };

test('the last active administrator can neither be demoted nor deactivated', () => {
  expect(leavesNoAdmin(admin, member, false)).toBe(true);
  expect(leavesNoAdmin(admin, retired, false)).toBe(true);
});

test('where another remains an administrator may go, and a member or an application always', () => {
  expect(leavesNoAdmin(admin, member, true)).toBe(false);
  expect(leavesNoAdmin(member, { ...member, status: 'deactivated' }, false)).toBe(false);
  expect(leavesNoAdmin(application, { ...application, role: 'member' }, false)).toBe(false);
  expect(leavesNoAdmin(retired, member, false)).toBe(false);
  expect(leavesNoAdmin(admin, admin, false)).toBe(false);
});

test('only what takes an administrator out of office is an act against one', () => {
  expect(unseatsAdmin(admin, member)).toBe(true);
  expect(unseatsAdmin(admin, retired)).toBe(true);
  expect(unseatsAdmin(member, admin)).toBe(false);
  expect(unseatsAdmin(admin, admin)).toBe(false);
});

test('only the step from active to deactivated ends credentials', () => {
  expect(endsCredentials(member, { ...member, status: 'deactivated' })).toBe(true);
  expect(endsCredentials(retired, admin)).toBe(false);
  expect(endsCredentials(retired, retired)).toBe(false);
  expect(endsCredentials(admin, member)).toBe(false);
});
