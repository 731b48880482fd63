import { createHash, createHmac, pbkdf2, randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { quote, tableKey } from '../scope/catalog.ts';
import type { ResolvedScope, ScopedTable } from '../scope/scope.ts';

/** One privilege on one object of a database. */
export interface Right {
  readonly kind: 'database' | 'schema' | 'table' | 'column' | 'sequence';
  readonly schema: string | null;
  readonly name: string | null;
  readonly column: string | null;
  readonly privilege: string;
}

/** The tenant that owns the roles. */
interface RoleOwner {
  readonly tenant: string;
  readonly database: string;
  /** The account that makes the roles. */
  readonly account: string;
}

/** The role of one scope, as which its statements log in. A scope has one role for reading and one for changing. */
export interface RolePlan {
  readonly name: string;
  /** The prefix of the names of all roles of this tenant in this database. */
  readonly family: string;
  readonly writes: boolean;
  readonly tables: readonly ScopedTable[];
  readonly rights: readonly Right[];
}

/** The prefix of every role name, for administrators of the data source. */
const prefix = 'agent_scope_';

export const familyOf = ({ tenant, database }: Pick<RoleOwner, 'tenant' | 'database'>): string =>
  `${prefix}${digest([tenant, database]).slice(0, 16)}_`;

/** The name is a hash of the rights, so that a changed scope gets another role and no role ever loses a right. */
export function planRole(owner: RoleOwner, scope: ResolvedScope, writes: boolean): RolePlan {
  const family = familyOf(owner);
  const tables = writes ? scope.tables.filter(({ kind }) => kind === 'table') : scope.tables;
  const rights = rightsOn(tables, writes);
  return { name: `${family}${digest([owner.account, rights]).slice(0, 24)}`, family, writes, tables, rights };
}

const digest = (parts: unknown): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

function rightsOn(tables: readonly ScopedTable[], writes: boolean): Right[] {
  const schemas = [...new Set(tables.map(({ schema }) => schema))].sort();
  return [
    right('database', 'connect', {}),
    ...schemas.map((schema) => right('schema', 'usage', { schema })),
    ...[...tables].sort(byName).flatMap((table) => [...onColumns(table, 'select'), ...(writes ? writeRights(table) : [])]),
  ];
}

const byName = (one: ScopedTable, other: ScopedTable): number => (tableKey(one) < tableKey(other) ? -1 : 1);

function writeRights(table: ScopedTable): Right[] {
  const mayDelete = table.hasAllColumns && table.primaryKey.length > 0;
  const { schema, name } = table;
  return [...onColumns(table, 'insert'), ...onColumns(table, 'update'), ...(mayDelete ? [right('table', 'delete', { schema, name })] : [])];
}

function onColumns({ schema, name, columns }: ScopedTable, privilege: 'select' | 'insert' | 'update'): Right[] {
  const writable = privilege === 'select' ? columns : columns.filter(({ generated }) => !generated);
  return writable.map((column) => right('column', privilege, { schema, name, column: column.name }));
}

export function right(kind: Right['kind'], privilege: string, on: Partial<Pick<Right, 'schema' | 'name' | 'column'>>): Right {
  return { kind, schema: on.schema ?? null, name: on.name ?? null, column: on.column ?? null, privilege };
}

/** The statements that grant these rights, with one statement for all columns of a table. */
export function grantText(role: string, database: string, rights: readonly Right[]): string {
  const grants = new Map<string, { one: Right; columns: string[] }>();
  for (const one of rights) {
    const key = JSON.stringify([one.kind, one.privilege, one.schema, one.name]);
    const grant = grants.get(key) ?? { one, columns: [] };
    grants.set(key, grant);
    if (one.column !== null) grant.columns.push(quote(one.column));
  }
  return Array.from(grants.values(), ({ one, columns }) => {
    const list = columns.length > 0 ? ` (${columns.join(', ')})` : '';
    return `grant ${one.privilege}${list} on ${objectOf(one, database)} to ${quote(role)}`;
  }).join('; ');
}

function objectOf({ kind, schema, name }: Right, database: string): string {
  if (kind === 'database') return `database ${quote(database)}`;
  if (kind === 'schema') return `schema ${quote(schema ?? '')}`;
  return `${kind === 'sequence' ? 'sequence' : 'table'} ${quote(schema ?? '')}.${quote(name ?? '')}`;
}

/** A role is dropped after this many days without use. */
export const retentionDays = 7;

/** The comment on a role, for administrators of the data source. `lastUsedPattern` reads its day. */
export const roleComment = (family: string, day: string): string =>
  `Agent Service: holds what one agent of the tenant behind ${family} may use, and is dropped when unused for ${retentionDays} days. Last used on ${day}.`;

/** The day in a comment, as a regular expression of PostgreSQL and of JavaScript. */
export const lastUsedPattern = 'Last used on ([0-9]{4}-[0-9]{2}-[0-9]{2})';

export const dayOf = (comment: string | null): string | undefined => new RegExp(lastUsedPattern).exec(comment ?? '')?.[1];

const derive = promisify<string, string, number, Buffer>(scrypt);
const stretch = promisify(pbkdf2);

/**
 * The password of a role is derived from the URL of the data source: every process derives the same one and none stores it. Without the
 * account's password it cannot be derived.
 */
export const rolePassword = async (sourceUrl: string, role: string): Promise<string> =>
  (await derive(sourceUrl, role, 32)).toString('base64url');

const iterations = 4096;

/** The verifier that PostgreSQL stores for a password. Computed here, so that no statement and no log of the data source has the password. */
export async function scramVerifier(password: string): Promise<string> {
  const salt = randomBytes(16);
  const salted = await stretch(password, salt, iterations, 32, 'sha256');
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest();
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`;
}
