import { ConfigurationError, setting } from '@agent-service/runtime';
import { Client } from 'pg';
import type { Sql } from '../sql.ts';
import { primaryUrl } from './primary.ts';

export const poolerAddress = setting.text().regex(/^[^\s:/@,]+:\d{1,5}$|^\[[0-9a-fA-F:]+\]:\d{1,5}$/, 'must be host:port');

const limitMs = 10_000;

/**
 * Makes the settings of a session the defaults of the role in this database: a pooler in transaction mode passes on no options of a session, and
 * keeps none that a statement sets. Goes to the server itself.
 */
export async function setRoleDefaults(url: string, schema: string, settings: Readonly<Record<string, string>>): Promise<void> {
  const client = new Client({ connectionString: await primaryUrl(url), connectionTimeoutMillis: limitMs, statement_timeout: limitMs });
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query('begin');
    // Two replicas that change one role at the same time would fail.
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`agent-service role ${schema}`]);
    const { rows } = await client.query<RoleDefaults>(defaultsOfRole);
    const { role = '', database = '', defaults = [] } = rows[0] ?? {};
    const present = new Map(defaults.map((each) => [each.slice(0, each.indexOf('=')), each.slice(each.indexOf('=') + 1)] as const));
    refuseSharedRole(role, schema, present.get('search_path'));
    for (const [name, value] of Object.entries(settings)) {
      if (present.get(name) === value) continue;
      const literal = name === 'search_path' ? client.escapeIdentifier(value) : client.escapeLiteral(value);
      await client.query(`alter role current_user in database ${client.escapeIdentifier(database)} set ${name} = ${literal}`);
    }
    await client.query('commit');
  } finally {
    await client.end();
  }
}

interface RoleDefaults {
  readonly role: string;
  readonly database: string;
  readonly defaults: readonly string[];
}

const defaultsOfRole = `
  select current_user::text as role, current_database()::text as database, coalesce(
    (select setconfig from pg_db_role_setting join pg_database on pg_database.oid = setdatabase
     where setrole = (select oid from pg_roles where rolname = current_user) and datname = current_database()), '{}') as defaults`;

function refuseSharedRole(role: string, schema: string, searchPath: string | undefined): void {
  if (searchPath === undefined || searchPath.replaceAll('"', '') === schema) return;
  throw new ConfigurationError([
    `DATABASE_POOLER: the role ${role} works in the schema ${searchPath}, and not in ${schema}. Behind a pooler each service needs a role of its own`,
  ]);
}

/** Sessions that the pooler opened before the role had its defaults would work in another schema. */
export async function checkPooledSession(sql: Sql, schema: string): Promise<void> {
  const [row] = await sql<{ path: string }>(`select current_setting('search_path') as path`);
  if (row?.path.replaceAll('"', '') === schema) return;
  throw new ConfigurationError([
    `DATABASE_POOLER: its sessions work in ${row?.path} and not in ${schema}. Let it open new ones (RECONNECT in PgBouncer's console)`,
  ]);
}
