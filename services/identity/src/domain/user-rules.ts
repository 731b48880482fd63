export type Role = 'admin' | 'member';
export type UserStatus = 'active' | 'deactivated';

export interface Standing {
  readonly role: Role;
  readonly status: UserStatus;
}

export const isActiveAdmin = ({ role, status }: Standing): boolean => role === 'admin' && status === 'active';

/** An organization whose last active administrator leaves could never be managed again. */
export function leavesNoAdmin(before: Standing, after: Standing, activeAdmins: number): boolean {
  return isActiveAdmin(before) && !isActiveAdmin(after) && activeAdmins <= 1;
}

/** Deactivation ends a user's credentials for good; a later activation does not bring them back. */
export const endsCredentials = (before: Standing, after: Standing): boolean => before.status === 'active' && after.status === 'deactivated';
