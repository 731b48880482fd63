import { type MigratedSchema, migratedSchema, tablesOfStore } from '@agent-service/testkit/schema';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { portalEntities } from '../src/portal/store/entities.ts';
import { invitationStatements } from '../src/portal/store/invitations.ts';
import { organizationChoiceStatements } from '../src/portal/store/organization-choices.ts';
import { passwordStatements } from '../src/portal/store/passwords.ts';
import { sessionStatements } from '../src/portal/store/sessions.ts';
import { signInLimitStatements } from '../src/portal/store/sign-in-limits.ts';
import { twoFactorStatements } from '../src/portal/store/two-factors.ts';
import { auditAppendStatements } from '../src/store/audit-append.ts';
import { auditVerifyStatements } from '../src/store/audit-verify.ts';
import { credentialListStatements } from '../src/store/credential-lists.ts';
import { recordUses } from '../src/store/credential-uses.ts';
import { credentialStatements } from '../src/store/credentials.ts';
import { entities as coreEntities } from '../src/store/entities.ts';
import { replaceHashes } from '../src/store/former-hashes.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { signingKeyStatements } from '../src/store/signing-keys.ts';
import { userStatements } from '../src/store/users.ts';

const entities = [...coreEntities, ...portalEntities];
/** Entities hold the ids of other tables as plain columns, which is how the code reads and writes them. */
const foreignKeys = [
  'api_keys_organization_id_user_id_fkey',
  'invitations_organization_id_fkey',
  'oauth_clients_organization_id_user_id_fkey',
  'password_resets_organization_id_user_id_fkey',
  'passwords_organization_id_user_id_fkey',
  'portal_sessions_organization_id_user_id_fkey',
  'provider_accounts_organization_id_user_id_fkey',
  'two_factors_organization_id_user_id_fkey',
  'user_counts_organization_id_fkey',
  'users_organization_id_fkey',
];

let migrated: MigratedSchema;
beforeAll(async () => {
  migrated = await migratedSchema({ schema: 'identity', migrations, entities });
});
afterAll(() => migrated?.drop());

test('entities describe the schema that the migrations make', async () => {
  const difference = await migrated.difference();
  const statements = difference.split('\n').filter((line) => line !== '');
  const dropped = statements.map((statement) => /^alter table .* drop constraint "(\w+)";$/.exec(statement)?.[1] ?? statement);
  expect(dropped.sort()).toEqual(foreignKeys);
});

test('every table has an entity or is of packages/store', async () => {
  expect(await migrated.tablesWithoutEntity()).toEqual(tablesOfStore);
});

test('every listed statement prepares against the migrated schema', async () => {
  const statements = {
    ...credentialStatements,
    ...credentialListStatements,
    recordUses,
    replaceHashes,
    ...signingKeyStatements,
    ...userStatements,
    ...passwordStatements,
    ...sessionStatements,
    ...signInLimitStatements,
    ...invitationStatements,
    ...organizationChoiceStatements,
    ...twoFactorStatements,
    ...auditAppendStatements,
    ...auditVerifyStatements,
  };
  expect(await migrated.failuresToPrepare(statements)).toEqual([]);
});
