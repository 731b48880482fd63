import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import pg from 'pg';
import { quote } from '../domain/identifiers.ts';
import type { ResolvedScope, ScopedTable } from '../domain/scope.ts';
import { type ConnectionSettings, poolSettings } from './connection.ts';
import { translateFailure } from './database-message.ts';

export interface ScopedRoleOptions {
  /** An account of the data source that may create roles. */
  readonly administrator: ConnectionSettings;
  readonly scope: ResolvedScope;
  /** The role's password is made from it, so that every process comes to the same. */
  readonly secret: string;
}

export type ScopedRole =
  | { readonly made: true; readonly name: string; readonly settings: ConnectionSettings }
  /** The data source does not let us; the other gates stand alone. */
  | { readonly made: false; readonly reason: string };

/** What every role of ours is called, so that an administrator of the data source knows them. */
const prefix = 'agent_scope_';
const connectionsOfRole = 20;
/** Two processes that make the same role at once would meet in its catalogue row. */
const lockNumber = 7_120_331;

/**
 * Makes, or brings up to date, a role that holds nothing but grants on the columns in scope: what gets past every other gate meets
 * PostgreSQL's own privileges. The name follows from the scope, so that another scope is another role.
 */
export async function ensureScopedRole({ administrator, scope, secret }: ScopedRoleOptions): Promise<ScopedRole> {
  const { database = '' } = poolSettings(administrator);
  const name = `${prefix}${createHash('sha256').update(describeScope(database, scope)).digest('hex').slice(0, 24)}`;
  const password = createHmac('sha256', secret).update(name).digest('base64url');
  try {
    await asAdministrator(administrator, async (client) => {
      await client.query('select pg_catalog.pg_advisory_xact_lock($1)', [lockNumber]);
      const { rowCount } = await client.query('select from pg_catalog.pg_roles where rolname = $1', [name]);
      const statements = [...roleStatements(name, password, rowCount === 0), ...grants(name, database, scope)];
      for (const text of statements) await client.query(text);
      if (!scope.readOnly) await grantSequences(client, name, scope);
    });
  } catch (cause) {
    const { kind, message } = translateFailure(cause);
    if (kind === 'unavailable') throw translateFailure(cause);
    return { made: false, reason: message };
  }
  return { made: true, name, settings: { ...administrator, url: urlFor(administrator.url, name, password) } };
}

/** Removes a role that `ensureScopedRole` made, with all that it was granted. */
export async function dropScopedRole(administrator: ConnectionSettings, name: string): Promise<void> {
  if (!name.startsWith(prefix)) throw new Error(`${name} is no role of a scope`);
  await asAdministrator(administrator, async (client) => {
    await client.query('select pg_catalog.pg_advisory_xact_lock($1)', [lockNumber]);
    const { rowCount } = await client.query('select from pg_catalog.pg_roles where rolname = $1', [name]);
    if (rowCount === 0) return;
    for (const text of [`grant ${quote(name)} to current_user`, `drop owned by ${quote(name)}`, `drop role ${quote(name)}`])
      await client.query(text);
  });
}

async function asAdministrator(settings: ConnectionSettings, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client(poolSettings(settings));
  // A connection that breaks fails the statement that waits for it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    await client.query(`begin; set local statement_timeout = 10000; set local lock_timeout = 5000; set local search_path = pg_catalog`);
    await work(client);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

const describeScope = (database: string, { readOnly, tables }: ResolvedScope): string =>
  JSON.stringify([
    database,
    readOnly,
    tables.map(({ schema, name, columns }) => [schema, name, columns.map((column) => column.name)]).sort(),
  ]);

function roleStatements(name: string, password: string, isNew: boolean): string[] {
  const role = quote(name);
  const attributes = `login noinherit nocreatedb nocreaterole connection limit ${connectionsOfRole} password '${scramVerifier(password)}'`;
  const settings: Readonly<Record<string, string>> = {
    default_transaction_read_only: 'on',
    search_path: 'pg_catalog, pg_temp',
    statement_timeout: '60000',
    lock_timeout: '5000',
    idle_in_transaction_session_timeout: '60000',
  };
  return [
    `${isNew ? 'create' : 'alter'} role ${role} ${attributes}`,
    ...Object.entries(settings).map(
      ([setting, value]) => `alter role ${role} set ${setting} = ${setting === 'search_path' ? value : `'${value}'`}`,
    ),
  ];
}

function grants(name: string, database: string, { tables, readOnly }: ResolvedScope): string[] {
  const role = quote(name);
  const schemas = [...new Set(tables.map(({ schema }) => schema))];
  return [
    `grant connect on database ${quote(database)} to ${role}`,
    ...schemas.map((schema) => `grant usage on schema ${quote(schema)} to ${role}`),
    ...tables.flatMap((table) => [
      `grant select (${columnsOf(table)}) on ${nameOf(table)} to ${role}`,
      ...(readOnly ? [] : writeGrants(table, role)),
    ]),
  ];
}

function writeGrants(table: ScopedTable, role: string): string[] {
  if (table.kind !== 'table') return [];
  const writable = table.columns.filter(({ generated }) => !generated);
  const columns = writable.map((column) => quote(column.name)).join(', ');
  const onRows = columns === '' ? [] : [`grant insert (${columns}), update (${columns}) on ${nameOf(table)} to ${role}`];
  return table.whole && table.primaryKey.length > 0 ? [...onRows, `grant delete on ${nameOf(table)} to ${role}`] : onRows;
}

/** Without them an insert could not take its default number. */
async function grantSequences(client: pg.Client, name: string, { tables }: ResolvedScope): Promise<void> {
  for (const table of tables.filter(({ kind }) => kind === 'table')) {
    const { rows } = await client.query<{ sequence: string }>(
      `select distinct s.oid::regclass::text as sequence from pg_depend d join pg_class s on s.oid = d.objid and s.relkind = 'S'
       where d.refclassid = 'pg_class'::regclass and d.refobjid = $1::regclass and d.deptype in ('a', 'i')`,
      [nameOf(table)],
    );
    for (const { sequence } of rows) await client.query(`grant usage on sequence ${sequence} to ${quote(name)}`);
  }
}

const nameOf = ({ schema, name }: ScopedTable): string => `${quote(schema)}.${quote(name)}`;
const columnsOf = ({ columns }: ScopedTable): string => columns.map(({ name }) => quote(name)).join(', ');

const iterations = 4096;

/** What PostgreSQL stores of a password: made here, the password itself stands in no statement and so in no log of the data source. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, iterations, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`;
}

function urlFor(url: string, user: string, password: string): string {
  const own = new URL(url);
  own.username = encodeURIComponent(user);
  own.password = encodeURIComponent(password);
  return own.href;
}
