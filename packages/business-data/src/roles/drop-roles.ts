import type { ClientBase } from 'pg';
import { type ConnectionSettings, poolSettings } from '../database/connection.ts';
import { createConnectionPool } from '../database/connection-pool.ts';
import { translateFailure } from '../database/database-message.ts';
import { DataFailure } from '../failure.ts';
import { quote } from '../scope/catalog.ts';
import { familyOf, lastUsedPattern, type RolePlan, retentionDays } from './role-plan.ts';

export interface DroppedRoles {
  readonly dropped: number;
  /** Roles that could not be dropped, for example because another account made them. */
  readonly left: number;
}

/** Drops one of our roles with all its grants in this database. Fails when the role owns objects, which another account gave it. */
export async function dropRole(client: ClientBase, name: string): Promise<void> {
  const role = quote(name);
  const { rowCount } = await client.query(
    `select from pg_shdepend d join pg_roles r on r.oid = d.refobjid where d.refclassid = 'pg_authid'::regclass and d.deptype = 'o' and r.rolname = $1`,
    [name],
  );
  if (rowCount !== 0) throw new DataFailure('failed', 'The role owns objects in the database, so it cannot be dropped.');
  await client.query(`grant ${role} to current_user; drop owned by ${role}; drop role ${role}`);
}

const maxAtOnce = 20;

/** Drops roles of this tenant that were not used for some days; roles that were not used today, when there are too many. */
export const dropStaleRoles = (client: ClientBase, { family }: Pick<RolePlan, 'family'>, isCrowded: boolean): Promise<DroppedRoles> =>
  dropEach(client, family, { olderThanDays: isCrowded ? 0 : retentionDays, limit: maxAtOnce });

const maxRoles = 10_000;
const dropLimitMs = 20_000;

/**
 * Drops all roles of a tenant in this database, when its data source was removed or replaced. `account` is the account that
 * made the roles.
 */
export async function dropScopedRoles(account: ConnectionSettings, tenant: string, signal?: AbortSignal): Promise<DroppedRoles> {
  const driver = poolSettings(account);
  const pool = createConnectionPool({ max: 1, queueTimeoutMs: undefined, onLost: () => undefined });
  try {
    const family = familyOf({ tenant, database: driver.database ?? '' });
    return await pool.use({ driver }, { timeoutMs: dropLimitMs, signal }, (client) =>
      dropEach(client, family, { olderThanDays: -1, limit: maxRoles }),
    );
  } finally {
    await pool.close();
  }
}

interface DropCriteria {
  readonly olderThanDays: number;
  readonly limit: number;
}

/** Drops each role in its own transaction, so that a failure affects only that role. */
async function dropEach(client: ClientBase, family: string, { olderThanDays, limit }: DropCriteria): Promise<DroppedRoles> {
  const { names } = await accountTransaction(client, async () => ({
    names: await unusedRoles(client, { family, olderThanDays, limit }),
    mustCommit: false,
  }));
  let dropped = 0;
  for (const name of names) if (await dropUnused(client, name, olderThanDays)) dropped += 1;
  return { dropped, left: names.length - dropped };
}

async function dropUnused(client: ClientBase, name: string, olderThanDays: number): Promise<boolean> {
  try {
    const { mustCommit } = await accountTransaction(client, async () => {
      await lockRoles(client);
      const [unused] = await unusedRoles(client, { family: name, olderThanDays, limit: 1 });
      if (unused !== undefined) await dropRole(client, name);
      return { mustCommit: unused !== undefined };
    });
    return mustCommit;
  } catch (cause) {
    const failure = translateFailure(cause);
    if (failure.kind === 'unavailable') throw failure;
    await client.query('rollback');
    return false;
  }
}

/** Roles with our comment, the least recently used first. */
async function unusedRoles(
  client: ClientBase,
  { family, olderThanDays, limit }: DropCriteria & { readonly family: string },
): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select r.rolname as name from pg_roles r,
       lateral (select substring(shobj_description(r.oid, 'pg_authid') from $2)::date as day) used
     where starts_with(r.rolname::text, $1) and used.day < (now() at time zone 'UTC')::date - $3::integer
     order by used.day, r.rolname limit $4`,
    [family, lastUsedPattern, olderThanDays, limit],
  );
  return rows.map(({ name }) => name);
}

/** Runs a transaction of the account that makes roles, and commits it when the result has `mustCommit`. */
export async function accountTransaction<T extends { readonly mustCommit: boolean }>(
  client: ClientBase,
  work: () => Promise<T>,
): Promise<T> {
  await client.query(
    `begin transaction isolation level read committed read write; set local statement_timeout = 10000; set local lock_timeout = 5000;
     set local search_path = pg_catalog, pg_temp; set local standard_conforming_strings = on`,
  );
  const result = await work();
  await client.query(result.mustCommit ? 'commit' : 'rollback');
  return result;
}

/** Two processes that make the same role at once would conflict in its catalog row. */
const lockNumber = 7_120_331;

export async function lockRoles(client: ClientBase): Promise<void> {
  await client.query('select pg_advisory_xact_lock($1)', [lockNumber]);
}
