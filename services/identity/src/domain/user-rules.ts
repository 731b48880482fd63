export type Role = 'admin' | 'member';
export type UserStatus = 'active' | 'deactivated';
export type UserKind = 'person' | 'service';

export interface Standing {
  readonly kind: UserKind;
  readonly role: Role;
  readonly status: UserStatus;
}

/** An application may have the role, but only a person can look after an organization. */
export const isActiveAdmin = ({ kind, role, status }: Standing): boolean => kind === 'person' && role === 'admin' && status === 'active';

/** An organization whose last active administrator leaves could never be managed again. */
export function leavesNoAdmin(before: Standing, after: Standing, othersRemain: boolean): boolean {
  return unseatsAdmin(before, after) && !othersRemain;
}

/** Makes an administrator: only an administrator may. */
export const seatsAdmin = (before: Standing, after: Standing): boolean => !isActiveAdmin(before) && isActiveAdmin(after);

/** Acts against an administrator: whoever does that must be one. */
export const unseatsAdmin = (before: Standing, after: Standing): boolean => isActiveAdmin(before) && !isActiveAdmin(after);

/** Deactivation ends a user's credentials for good; a later activation does not bring them back. */
export const endsCredentials = (before: Standing, after: Standing): boolean => before.status === 'active' && after.status === 'deactivated';
