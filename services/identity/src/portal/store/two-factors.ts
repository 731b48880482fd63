import { type Sql, sealedColumn } from '@agent-service/store';

interface UserKey {
  readonly organizationId: string;
  readonly userId: string;
}

export const twoFactorContext = ({ organizationId, userId }: UserKey): string => `two_factors/${organizationId}/${userId}/secret`;

/** The column of the secrets, which the cipher seals again after a rotation of its keys. */
export const sealedTwoFactorSecrets = sealedColumn({
  table: 'two_factors',
  column: 'secret',
  key: ['organization_id', 'user_id'],
  contextOf: ({ organization_id = '', user_id = '' }) => twoFactorContext({ organizationId: organization_id, userId: user_id }),
});

interface TwoFactorRow {
  readonly secret: string;
  readonly isConfirmed: boolean;
}

export const findTwoFactor = async (sql: Sql, { organizationId, userId }: UserKey): Promise<TwoFactorRow | undefined> =>
  (await sql<TwoFactorRow>(findTwoFactorStatement, [organizationId, userId]))[0];

const findTwoFactorStatement = `
  select secret, confirmed_at is not null as "isConfirmed" from two_factors where organization_id = $1 and user_id = $2`;

/** Saves a secret that is not confirmed yet; false if the user has a confirmed one. */
export async function saveUnconfirmedSecret(sql: Sql, { organizationId, userId }: UserKey, sealedSecret: string): Promise<boolean> {
  return (await sql(saveUnconfirmedSecretStatement, [organizationId, userId, sealedSecret])).length > 0;
}

const saveUnconfirmedSecretStatement = `
  insert into two_factors as known (organization_id, user_id, secret) values ($1, $2, $3)
  on conflict (organization_id, user_id) do update set secret = excluded.secret, last_step = 0 where known.confirmed_at is null returning 1`;

/** Puts this secret in use with its recovery codes; false if it is in use already, or was replaced or removed. */
export async function activateTwoFactor(
  sql: Sql,
  { organizationId, userId }: UserKey,
  sealedSecret: string,
  step: number,
  recoveryHashes: readonly string[],
): Promise<boolean> {
  return (await sql(activateTwoFactorStatement, [organizationId, userId, sealedSecret, step, recoveryHashes])).length > 0;
}

const activateTwoFactorStatement = `
  update two_factors set confirmed_at = now(), last_step = $4, recovery_hashes = $5::text[]
  where organization_id = $1 and user_id = $2 and secret = $3 and confirmed_at is null returning 1`;

/** Records that the code of a step was accepted; false if this code or that of a later step was accepted before. */
export const takeStep = async (sql: Sql, { organizationId, userId }: UserKey, step: number): Promise<boolean> =>
  (await sql(takeStepStatement, [organizationId, userId, step])).length > 0;

const takeStepStatement = `
  update two_factors set last_step = $3 where organization_id = $1 and user_id = $2 and last_step < $3 returning 1`;

/** Uses up the recovery code that has one of these hashes; false if it is none of the user's. */
export const takeRecoveryCode = async (sql: Sql, { organizationId, userId }: UserKey, hashes: readonly string[]): Promise<boolean> =>
  (await sql(takeRecoveryCodeStatement, [organizationId, userId, hashes])).length > 0;

const takeRecoveryCodeStatement = `
  update two_factors set recovery_hashes = array(select unnest(recovery_hashes) except select unnest($3::text[]))
  where organization_id = $1 and user_id = $2 and recovery_hashes && $3::text[] returning 1`;

/** Returns false if the user had none. */
export const deleteTwoFactor = async (sql: Sql, { organizationId, userId }: UserKey): Promise<boolean> =>
  (await sql(deleteTwoFactorStatement, [organizationId, userId])).length > 0;

const deleteTwoFactorStatement = 'delete from two_factors where organization_id = $1 and user_id = $2 returning 1';

/** Deletes a secret that was made and not confirmed. */
export async function deleteUnconfirmedSecret(sql: Sql, { organizationId, userId }: UserKey): Promise<void> {
  await sql(deleteUnconfirmedSecretStatement, [organizationId, userId]);
}

const deleteUnconfirmedSecretStatement = 'delete from two_factors where organization_id = $1 and user_id = $2 and confirmed_at is null';

export const twoFactorStatements = {
  findTwoFactorStatement,
  saveUnconfirmedSecretStatement,
  activateTwoFactorStatement,
  takeStepStatement,
  takeRecoveryCodeStatement,
  deleteTwoFactorStatement,
  deleteUnconfirmedSecretStatement,
};
