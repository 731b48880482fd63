import type { Sql } from '@agent-service/store';
import type { ProviderAccount } from './passwords.ts';

/** As long as the cookie of the portal that holds its token. */
const lifetimeSeconds = 600;

export async function addChoice(sql: Sql, tokenHash: string, { issuer, subject, email }: ProviderAccount): Promise<void> {
  await sql(addChoiceStatement, [tokenHash, issuer, subject, email, lifetimeSeconds]);
}

const addChoiceStatement = `
  insert into organization_choices (token_hash, issuer, subject, email, expires_at)
  values ($1, $2, $3, $4, clock_timestamp() + $5::integer * interval '1 second')`;

/** The account that a choice was made for; undefined if it was used or has expired. */
export async function findChoice(sql: Sql, tokenHash: string): Promise<ProviderAccount | undefined> {
  return (await sql<ProviderAccount>(findChoiceStatement, [tokenHash]))[0];
}

const isOpen = 'token_hash = $1 and expires_at > clock_timestamp()';
const findChoiceStatement = `select issuer, subject, email from organization_choices where ${isOpen}`;

/** Uses up a choice; undefined if it was used or has expired. */
export async function takeChoice(sql: Sql, tokenHash: string): Promise<ProviderAccount | undefined> {
  return (await sql<ProviderAccount>(takeChoiceStatement, [tokenHash]))[0];
}

const takeChoiceStatement = `delete from organization_choices where ${isOpen} returning issuer, subject, email`;

export const organizationChoiceStatements = { addChoiceStatement, findChoiceStatement, takeChoiceStatement };
