import { foundation } from './0001-foundation.ts';
import {
  auditBreaksMigration,
  auditKeysMigration,
  deadLetters,
  revokedSigningKeys,
  usersByRoleAndStatus,
} from './0002-0006-keys-and-audit.ts';
import { managedCredentials } from './0007-managed-credentials.ts';
import { portal } from './0008-portal.ts';
import { organizationChoices } from './0009-organization-choices.ts';

/** The history of the schema, oldest first. */
export const migrations = [
  foundation,
  deadLetters,
  revokedSigningKeys,
  auditKeysMigration,
  auditBreaksMigration,
  usersByRoleAndStatus,
  managedCredentials,
  portal,
  organizationChoices,
];
