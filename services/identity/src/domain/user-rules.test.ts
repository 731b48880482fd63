import { expect, test } from '@jest/globals';
import { endsCredentials, leavesNoAdmin, type Standing } from './user-rules.ts';

const admin: Standing = { role: 'admin', status: 'active' };
const member: Standing = { role: 'member', status: 'active' };
const retired: Standing = { role: 'admin', status: 'deactivated' };

test('the last active administrator can neither be demoted nor deactivated', () => {
  expect(leavesNoAdmin(admin, member, 1)).toBe(true);
  expect(leavesNoAdmin(admin, retired, 1)).toBe(true);
});

test('one of two administrators may go, and a member always', () => {
  expect(leavesNoAdmin(admin, member, 2)).toBe(false);
  expect(leavesNoAdmin(member, { ...member, status: 'deactivated' }, 1)).toBe(false);
  expect(leavesNoAdmin(retired, member, 1)).toBe(false);
  expect(leavesNoAdmin(admin, admin, 1)).toBe(false);
});

test('only the step from active to deactivated ends credentials', () => {
  expect(endsCredentials(member, { ...member, status: 'deactivated' })).toBe(true);
  expect(endsCredentials(retired, admin)).toBe(false);
  expect(endsCredentials(retired, retired)).toBe(false);
  expect(endsCredentials(admin, member)).toBe(false);
});
