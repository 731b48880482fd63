import { foundation } from './0001-foundation.ts';
import { deadLetters } from './0002-dead-letters.ts';
import { revokedSigningKeys } from './0003-revoked-signing-keys.ts';
import { auditKeysMigration } from './0004-audit-keys.ts';
import { auditBreaksMigration } from './0005-audit-breaks.ts';
import { usersByRoleAndStatus } from './0006-users-by-role-and-status.ts';

/** The history of the schema, oldest first. */
export const migrations = [foundation, deadLetters, revokedSigningKeys, auditKeysMigration, auditBreaksMigration, usersByRoleAndStatus];
