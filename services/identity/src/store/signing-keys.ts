import type { Sql } from '@agent-service/store';

/** A key that has a successor verifies for as long as a token signed with it can live, and a little longer. */
const verifiesForDays = 2;
const signsForDays = 1;

const withoutSuccessorFor = (days: number) => `(followed_at is null or followed_at > now() - interval '${days} days')`;

/** Keys that were not revoked, each with the time from which a newer one signs. */
const keysInOrder =
  '(select *, lead(activates_at) over (order by activates_at, kid) as followed_at from signing_keys where revoked_at is null) as key';
const published = `from ${keysInOrder} where ${withoutSuccessorFor(verifiesForDays)}`;

const findPublished = `select kid, modulus, exponent ${published} order by kid desc`;
const findById = `select kid, modulus, exponent, kid in (select kid ${published}) as "isPublished" from signing_keys where kid = any($1)`;
// A key takes over from a newer one that cannot be decrypted here, for as long as its tokens are verified.
const findActive = `
  select kid, private_key as "privateKey" from ${keysInOrder}
  where activates_at <= now() and ${withoutSuccessorFor(signsForDays)} order by activates_at desc, kid desc`;
const findNewer = `
  select key.kid from signing_keys as key join signing_keys as ended on ended.kid = $1 and (key.activates_at, key.kid) > (ended.activates_at, ended.kid)
  where key.revoked_at is null and key.activates_at <= now() order by key.activates_at desc, key.kid desc limit 1`;
const findYoung = `
  select kid from signing_keys where revoked_at is null and (created_at > now() - make_interval(days => $1) or activates_at > now())
  order by activates_at desc, kid desc limit 1`;
const findOne = 'select kid from signing_keys where kid = $1';
const lockAll = `select pg_advisory_xact_lock(hashtextextended('signing keys', 0))`;
// No gateway has a copy of the published keys yet when the first key is made.
const insert = `
  insert into signing_keys (kid, modulus, exponent, private_key, activates_at)
  select $1, $2, $3, $4, now() + case when exists (select 1 from signing_keys) then make_interval(secs => $5) else interval '0' end
  returning exists (select 1 from signing_keys) as "hasFormer"`;
// Revokes the keys that verify nothing any more together with their successor: without a successor the latest of them would verify again.
const endFormer = `
  update signing_keys set revoked_at = clock_timestamp() where kid = any(array(
    select kid from ${keysInOrder} where kid <> $1 and followed_at <= now() - interval '${verifiesForDays} days')) returning kid`;
// A key that verifies nothing never signs again: a revocation of its successor revokes it as well.
const forget = `update signing_keys set private_key = '' where private_key <> '' and kid not in (select kid ${published})`;
const revoke = `
  with before as (select kid, revoked_at from signing_keys where kid = $1 for update)
  update signing_keys as key set revoked_at = coalesce(before.revoked_at, clock_timestamp()) from before where key.kid = before.kid
  returning before.revoked_at is null as "isNew", (extract(epoch from clock_timestamp() - key.revoked_at) * 1000)::float8 as "revokedForMs"`;

export interface PublicKeyRow {
  readonly kid: string;
  readonly modulus: string;
  readonly exponent: string;
}

export interface VerificationKeyRow extends PublicKeyRow {
  /** False for a key that was revoked or rotated out, whose tokens are not valid any more. */
  readonly isPublished: boolean;
}

export interface PrivateKeyRow {
  readonly kid: string;
  readonly privateKey: string;
}

const firstKid = async (rows: Promise<{ kid: string }[]>): Promise<string | undefined> => (await rows)[0]?.kid;

export const findPublishedKeys = (sql: Sql): Promise<PublicKeyRow[]> => sql<PublicKeyRow>(findPublished);
export const findKeysById = (sql: Sql, kids: readonly string[]): Promise<VerificationKeyRow[]> => sql<VerificationKeyRow>(findById, [kids]);
/** The keys that may sign, newest first. */
export const findActiveKeys = (sql: Sql): Promise<PrivateKeyRow[]> => sql<PrivateKeyRow>(findActive);
export const hasSigningKey = async (sql: Sql, kid: string): Promise<boolean> => (await sql(findOne, [kid])).length > 0;
/** The newest key that signs already and is newer than this one. */
export const findNewerKey = (sql: Sql, kid: string): Promise<string | undefined> => firstKid(sql(findNewer, [kid]));
/** The newest key, if it is younger than so many days or does not sign yet. */
export const findYoungKey = (sql: Sql, days: number): Promise<string | undefined> => firstKid(sql(findYoung, [days]));

export async function lockSigningKeys(sql: Sql): Promise<void> {
  await sql(lockAll);
}

/** Says if there was a key before. */
export async function addSigningKey(
  sql: Sql,
  { kid, modulus, exponent, privateKey }: PublicKeyRow & PrivateKeyRow,
  aheadSeconds: number,
): Promise<boolean> {
  const [row] = await sql<{ hasFormer: boolean }>(insert, [kid, modulus, exponent, privateKey, aheadSeconds]);
  return row?.hasFormer === true;
}

/** Removes the private keys of keys that verify nothing any more. */
export async function forgetPrivateKeys(sql: Sql): Promise<void> {
  await sql(forget);
}

interface RevokedKey {
  readonly isNew: boolean;
  readonly revokedForMs: number;
  /** The keys that were revoked together with their successor. They verified nothing any more before. */
  readonly formerKids: readonly string[];
}

export async function revokeSigningKeyRow(sql: Sql, kid: string): Promise<RevokedKey | undefined> {
  const former = await sql<{ kid: string }>(endFormer, [kid]);
  const [row] = await sql<Omit<RevokedKey, 'formerKids'>>(revoke, [kid]);
  return row && { ...row, formerKids: former.map((each) => each.kid) };
}

/** The prepared statements of this file; a test prepares each against the migrated schema. */
export const signingKeyStatements = {
  findPublished,
  findById,
  findActive,
  findNewer,
  findYoung,
  findOne,
  lockAll,
  insert,
  endFormer,
  forget,
  revoke,
};
