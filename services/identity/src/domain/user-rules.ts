export type Role = 'admin' | 'member';
export type UserStatus = 'active' | 'deactivated';
export type UserKind = 'person' | 'service';

export interface UserState {
  readonly kind: UserKind;
  readonly role: Role;
  readonly status: UserStatus;
}

/** An application may have the role, but only a person can manage an organization. */
export const isActiveAdmin = ({ kind, role, status }: UserState): boolean => kind === 'person' && role === 'admin' && status === 'active';

/** The organization would have no administrator left that could manage it again. */
export const leavesNoAdmin = (before: UserState, after: UserState, hasOtherAdmin: boolean): boolean =>
  revokesAdmin(before, after) && !hasOtherAdmin;

export const grantsAdmin = (before: UserState, after: UserState): boolean => !isActiveAdmin(before) && isActiveAdmin(after);

export const revokesAdmin = (before: UserState, after: UserState): boolean => isActiveAdmin(before) && !isActiveAdmin(after);

/** A deactivation revokes the user's credentials for good; a later activation does not restore them. */
export const endsCredentials = (before: UserState, after: UserState): boolean =>
  before.status === 'active' && after.status === 'deactivated';
