import type { Role } from '@agent-service/contracts';
import type { Sql } from '@agent-service/store';

/** A user who may sign in with an e-mail address. */
export interface SignInUser {
  readonly organizationId: string;
  readonly organizationName: string;
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
  /** Null without a password. */
  readonly hash: string | null;
  /** When the password was set, to the microsecond; null without one. A new hash of the same password leaves it. */
  readonly passwordChangedAt: string | null;
}

const maxUsers = 100;

/** The active people with this address in all organizations: an address is unique in its organization only. */
export const findUsersByEmail = (sql: Sql, email: string): Promise<SignInUser[]> => sql<SignInUser>(findByEmail, [email, maxUsers]);

/** The address as the look-up of users compares it: PostgreSQL and JavaScript fold some letters in different ways. */
export async function foldEmail(sql: Sql, email: string): Promise<string> {
  const [row] = await sql<{ folded: string }>(foldEmailStatement, [email]);
  return row?.folded ?? email;
}

const foldEmailStatement = 'select lower($1::text) as folded';

const changedAt = 'extract(epoch from passwords.changed_at)::text';
const columns = `users.organization_id as "organizationId", organizations.name as "organizationName", users.id as "userId", email, role, hash,
  ${changedAt} as "passwordChangedAt"`;
const from = `from users join organizations on organizations.id = users.organization_id
  left join passwords on passwords.organization_id = users.organization_id and passwords.user_id = users.id`;
const isPerson = `users.kind = 'person' and users.status = 'active'`;

// Users with a password come first, because the list is limited and only they can sign in with one.
const findByEmail = `
  select ${columns} ${from}
  where lower(email) = lower($1) and email <> '' and ${isPerson} order by passwords.changed_at nulls last, users.id limit $2`;

/** An active person; undefined if there is none. */
export async function findPerson(sql: Sql, organizationId: string, userId: string): Promise<SignInUser | undefined> {
  return (await sql<SignInUser>(findPersonStatement, [organizationId, userId]))[0];
}

const findPersonStatement = `select ${columns} ${from} where users.organization_id = $1 and users.id = $2 and ${isPerson}`;

export async function savePassword(sql: Sql, organizationId: string, userId: string, hash: string): Promise<void> {
  await sql(savePasswordStatement, [organizationId, userId, hash]);
}

const savePasswordStatement = `
  insert into passwords (organization_id, user_id, hash, changed_at) values ($1, $2, $3, now())
  on conflict (organization_id, user_id) do update set hash = excluded.hash, changed_at = excluded.changed_at`;

/** True if the password has not changed since the user was read. It cannot change while the transaction has a lock of the user. */
export async function hasSamePassword(sql: Sql, { organizationId, userId, passwordChangedAt }: SignInUser): Promise<boolean> {
  const [row] = await sql<Pick<SignInUser, 'passwordChangedAt'>>(findChangedAt, [organizationId, userId]);
  return (row?.passwordChangedAt ?? null) === passwordChangedAt;
}

const findChangedAt = `select ${changedAt} as "passwordChangedAt" from passwords where organization_id = $1 and user_id = $2`;

/** Replaces the text of a password that stays the same, unless it was changed in the meantime. */
export async function rehashPassword(sql: Sql, user: SignInUser, hash: string): Promise<void> {
  await sql(rehashPasswordStatement, [user.organizationId, user.userId, user.hash, hash]);
}

const rehashPasswordStatement = 'update passwords set hash = $4 where organization_id = $1 and user_id = $2 and hash = $3';

/** The users that an account of a provider may sign in as: users linked to it, and users with its e-mail address in organizations where it has no link. */
export const findProviderUsers = (sql: Sql, { issuer, subject, email }: ProviderAccount): Promise<ProviderUser[]> =>
  sql<ProviderUser>(findProviderUsersStatement, [issuer, subject, email, maxUsers]);

export interface ProviderUser extends SignInUser {
  /** The account has signed in as this user before. */
  readonly isLinked: boolean;
}

export interface ProviderAccount {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
}

// A user who is linked to another account of the provider is not signed in by the address: providers give addresses to other people.
// Each condition has one index that fits: without statistics, one with `or` reads every account of the organization.
const findProviderUsersStatement = `
  select ${columns}, true as "isLinked" ${from}
    join provider_accounts as account on account.organization_id = users.organization_id and account.user_id = users.id
  where account.issuer = $1 and account.subject = $2 and ${isPerson}
  union all
  (select ${columns}, false ${from} where lower(email) = lower($3) and email <> '' and ${isPerson}
    and $1 <> all (array(select account.issuer from provider_accounts as account
      where account.organization_id = users.organization_id and account.user_id = users.id))
    and not exists (select 1 from provider_accounts as account
      where account.organization_id = users.organization_id and account.issuer = $1 and account.subject = $2)
    order by users.id limit $4)`;

/** Links the account to the user, so that a later change of the address at the provider does not matter; false if it was linked before. */
export async function linkProviderAccount(sql: Sql, user: SignInUser, { issuer, subject }: ProviderAccount): Promise<boolean> {
  return (await sql(linkProviderAccountStatement, [user.organizationId, user.userId, issuer, subject])).length > 0;
}

const linkProviderAccountStatement = `
  insert into provider_accounts (organization_id, user_id, issuer, subject, created_at) values ($1, $2, $3, $4, now()) on conflict do nothing returning 1`;

/**
 * Unlinks the accounts of providers, and removes what the person of such an account may have set up without a proof of the user: a password
 * that was set after the first link, and a second factor that is not confirmed, or was confirmed after the first link while the user had no
 * older password. From then on only the account with the user's e-mail address can be linked again. Returns what was removed, as fields of an
 * audit entry.
 */
export async function unlinkProviderAccounts(sql: Sql, organizationId: string, userId: string): Promise<Record<string, unknown>> {
  const [removed] = await sql<Removed>(unlinkProviderAccountsStatement, [organizationId, userId]);
  return {
    ...(removed?.accounts && { unlinked_accounts: removed.accounts }),
    ...(removed?.password && { password: 'removed' }),
    ...(removed?.twoFactor && { two_factor: 'removed' }),
  };
}

interface Removed {
  /** How many. */
  readonly accounts: number;
  readonly password: boolean;
  readonly twoFactor: boolean;
}

// All parts read what was there before the statement.
const unlinkProviderAccountsStatement = `
  with unlinked as (delete from provider_accounts where organization_id = $1 and user_id = $2 returning created_at),
  first as (select min(created_at) as at from unlinked),
  passwords_since as (delete from passwords where organization_id = $1 and user_id = $2 and changed_at >= (select at from first) returning 1),
  unproven as (delete from two_factors where organization_id = $1 and user_id = $2 and (confirmed_at is null or confirmed_at >= (select at from first)
      and not exists (select 1 from passwords where organization_id = $1 and user_id = $2 and changed_at < (select at from first)))
    returning confirmed_at)
  select (select count(*)::integer from unlinked) as accounts, exists (select 1 from passwords_since) as password,
    exists (select 1 from unproven where confirmed_at is not null) as "twoFactor"`;

export const passwordStatements = {
  findProviderUsersStatement,
  linkProviderAccountStatement,
  unlinkProviderAccountsStatement,
  foldEmailStatement,
  findByEmail,
  findPersonStatement,
  findChangedAt,
  savePasswordStatement,
  rehashPasswordStatement,
};
