import type { Role } from '@agent-service/contracts/callers/principal';

export type UserStatus = 'active' | 'deactivated';
/** The service user of an OAuth application cannot sign in. */
export type UserKind = 'person' | 'service';

/** The facts about a user that the rules depend on. */
export interface UserState {
  readonly kind: UserKind;
  readonly role: Role;
  readonly status: UserStatus;
  readonly email: string;
}

/** An application may have the role, but only a person can manage an organization. */
const isActiveAdmin = ({ kind, role, status }: UserState): boolean => kind === 'person' && role === 'admin' && status === 'active';

/** The organization would have no administrator left that could manage it again. */
export const leavesNoAdmin = (before: UserState, after: UserState, hasOtherAdmin: boolean): boolean =>
  revokesAdmin(before, after) && !hasOtherAdmin;

/** A deactivated user who gets the role is an administrator after a later activation. */
export const grantsAdmin = (before: UserState, after: UserState): boolean =>
  (!isActiveAdmin(before) && isActiveAdmin(after)) || (before.role !== 'admin' && after.role === 'admin');

export const revokesAdmin = (before: UserState, after: UserState): boolean => isActiveAdmin(before) && !isActiveAdmin(after);

/**
 * A person signs in with a provider's account of the e-mail address, so another address gives another account access. This counts for a
 * deactivated person too, who may be activated later.
 */
export const changesSignIn = (before: UserState, after: UserState): boolean => before.kind === 'person' && before.email !== after.email;

/** A link to set a password is valid while the user has the address, role and status that it was made for. */
export const endsReset = (before: UserState, after: UserState): boolean =>
  before.email !== after.email || before.role !== after.role || before.status !== after.status;

/** A deactivation revokes the user's credentials for good; a later activation does not restore them. */
export const endsCredentials = (before: UserState, after: UserState): boolean =>
  before.status === 'active' && after.status === 'deactivated';
