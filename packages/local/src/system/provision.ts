import { OperatorFault } from '@agent-service/runtime/failures';
import { withoutOptions, withRole } from '@agent-service/store/servers/database-url';
import type { Client } from 'pg';
import { errorCode } from '../host/files.ts';
import { wrongPassword } from '../postgres/server.ts';
import { withDatabase } from '../postgres/with-database.ts';

const databaseName = 'agent_service';
/** Two starts on one server take this lock in turn. */
const advisoryLock = 727_274_001;
const oldestVersion = 150_000;
const usualLimitMs = 30_000;
/** PostgreSQL's code for a statement that exceeded statement_timeout: query_canceled. */
const statementTimeout = '57014';

interface ProvisionOptions {
  readonly services: readonly string[];
  /** Those of them that run with a role of their own, which does not own their schema. */
  readonly runtimeRoles?: readonly string[];
  readonly password: (name: string) => string;
  /** How long one statement may take, waiting for others' locks included. */
  readonly limitMs?: number;
}

/** The URL with which each service reaches its own schema. */
export type DatabaseUrls = Readonly<Record<string, string>>;

interface ServiceUrls {
  readonly urls: DatabaseUrls;
  /** With which those services migrate that do not own their schema. */
  readonly ownerUrls: DatabaseUrls;
}

/** Under which the password of a service's runtime role is kept. */
export const runtimeRoleName = (service: string): string => `${service}-runtime`;

/** On a server of our own: one database for the system, open to the services' roles only. */
export async function provisionOwnServer(adminUrl: string, options: ProvisionOptions): Promise<{ adminUrl: string } & ServiceUrls> {
  await asAdministrator(adminUrl, options, async (client) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [databaseName]);
    if (rowCount === 0) await client.query(`create database ${databaseName}`);
    for (const database of [databaseName, 'postgres', 'template1']) await client.query(`revoke all on database ${database} from public`);
  });
  const ours = new URL(adminUrl);
  ours.pathname = `/${databaseName}`;
  const roles = await asAdministrator(ours.href, options, async (client) => {
    await client.query('revoke all on schema public from public');
    return await makeRoles(client, ours.href, options);
  });
  return { adminUrl: ours.href, ...roles };
}

/** In a given database: only schemas of our own. If its role may not create roles, that one role serves all services. */
export async function provisionGivenDatabase(url: string, options: ProvisionOptions): Promise<ServiceUrls & { note: string | undefined }> {
  return await asAdministrator(url, options, async (client) => {
    const rights = await rightsOf(client);
    if (rights.version < oldestVersion)
      throw new OperatorFault(
        `DATABASE_URL leads to a PostgreSQL older than 15, which is not supported. Use a newer one, or unset DATABASE_URL.`,
      );
    if (!rights.may_create_schemas)
      throw new OperatorFault(
        `DATABASE_URL: the role "${rights.role}" may not create schemas in this database. Grant it: grant create on database "${rights.database}" to "${rights.role}"`,
      );
    if (rights.may_create_roles) return { ...(await makeRoles(client, url, options)), note: undefined };
    for (const service of options.services) await client.query(`create schema if not exists ${client.escapeIdentifier(service)}`);
    const urls = Object.fromEntries(options.services.map((service) => [service, withSearchPath(url, service)]));
    return { urls, ownerUrls: {}, note: noRoles(rights.role) };
  });
}

/**
 * Refuses a database on which a system with other secrets runs: that one's roles would get other passwords, and its processes no more
 * connections. Roles without sessions are those of a system that has ended, whose secrets may be lost.
 */
export async function refuseOtherSystem(url: string, options: ProvisionOptions): Promise<void> {
  const { services, runtimeRoles = [], password } = options;
  const names = [...services, ...runtimeRoles.map(runtimeRoleName)];
  const used = await asAdministrator(url, options, async (client) => {
    const database = await databaseOf(client);
    const { rows } = await client.query<{ name: string; role: string }>(
      `select name, role from unnest($1::text[], $2::text[]) as ours (name, role)
       where exists (select from pg_stat_activity where usename = role and datname = current_database())`,
      [names, names.map((name) => roleName(database, name))],
    );
    return rows;
  });
  for (const { name, role } of used) {
    // Any other failure is met again when the roles are made.
    const isOurs = await asAdministrator(withRole(url, role, password(name)), options, async () => true).catch(
      (cause: unknown) => errorCode(cause) !== wrongPassword,
    );
    if (isOurs) continue;
    throw new OperatorFault(
      `DATABASE_URL: another system runs on this database, with other secrets than this one ("${role}" has sessions). Stop it, start with its secrets (its DATA_DIR or Secret), or name a database of this system's own.`,
    );
  }
}

interface Rights {
  role: string;
  database: string;
  version: number;
  may_create_roles: boolean;
  may_create_schemas: boolean;
}

async function rightsOf(client: Client): Promise<Rights> {
  const { rows } = await client.query<Rights>(
    `select current_user::text as role, current_database()::text as database, current_setting('server_version_num')::int as version,
            rolsuper or rolcreaterole as may_create_roles, has_database_privilege(current_database(), 'create') as may_create_schemas
     from pg_roles where rolname = current_user`,
  );
  return rows[0] as Rights;
}

const noRoles = (role: string) =>
  `DATABASE_URL's role "${role}" may not create roles: all services use it, each with a schema of its own. It owns the audit log, too, and could change it.`;

/** One role a service with a schema of its own. Roles belong to the whole server, so their names begin with the database's. */
async function makeRoles(client: Client, url: string, { services, runtimeRoles = [], password }: ProvisionOptions): Promise<ServiceUrls> {
  const urls: Record<string, string> = {};
  const ownerUrls: Record<string, string> = {};
  await client.query('begin');
  await client.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
  const database = await databaseOf(client);
  const makeOne = async (service: string, name: string): Promise<string> => {
    const role = roleName(database, name);
    await makeRole(client, { database, service, role, password: password(name) });
    return withRole(url, role, password(name));
  };
  for (const service of services) {
    urls[service] = await makeOne(service, service);
    await ownSchema(client, service, roleName(database, service));
    if (!runtimeRoles.includes(service)) continue;
    ownerUrls[service] = urls[service];
    urls[service] = await makeOne(service, runtimeRoleName(service));
  }
  await client.query('commit');
  await refuseOtherOwners(client, services, database);
  return { urls, ownerUrls };
}

/** After a backup was restored under another name, the schemas belong to the roles of the name before. */
async function refuseOtherOwners(client: Client, services: readonly string[], database: string): Promise<void> {
  const { rows } = await client.query<{ role: string; owner: string }>(
    `select role, pg_get_userbyid(nspowner)::text as owner from unnest($1::text[], $2::text[]) as ours (schema, role) join pg_namespace on nspname = schema
     where not has_schema_privilege(role, schema, 'usage')`,
    [services, services.map((service) => roleName(database, service))],
  );
  if (rows.length === 0) return;
  const statements = rows.map(
    ({ role, owner }) => `  reassign owned by ${client.escapeIdentifier(owner)} to ${client.escapeIdentifier(role)};`,
  );
  throw new OperatorFault(
    `DATABASE_URL: the schemas of the database "${database}" belong to roles of another name, as after a backup was restored under a new name. Give the database the name of before, or run in it, as an administrator:\n${statements.join('\n')}`,
  );
}

async function databaseOf(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>('select current_database()::text as name');
  return rows[0]?.name as string;
}

interface ServiceRole {
  readonly database: string;
  readonly service: string;
  readonly role: string;
  readonly password: string;
}

async function makeRole(client: Client, { database, service, role, password }: ServiceRole): Promise<void> {
  const [roleId, schema, databaseId] = [role, service, database].map((name) => client.escapeIdentifier(name));
  const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1', [role]);
  if (rowCount === 0) await client.query(`create role ${roleId}`);
  await client.query(`alter role ${roleId} login password ${client.escapeLiteral(password)}`);
  await client.query(`alter role ${roleId} in database ${databaseId} set search_path = ${schema}`);
  // A schema can be given only to a role that one is a member of; superusers are members of all.
  await client.query(`grant ${roleId} to current_user`);
  await client.query(`grant connect on database ${databaseId} to ${roleId}`);
}

async function ownSchema(client: Client, service: string, role: string): Promise<void> {
  const [schema, roleId] = [service, role].map((name) => client.escapeIdentifier(name));
  await client.query(`create schema if not exists ${schema} authorization ${roleId}`);
}

/** Short enough for PostgreSQL, which cuts names at 63 bytes. */
function roleName(database: string, service: string): string {
  return `${database.slice(0, 40)}_${service.replaceAll('-', '_')}`;
}

function withSearchPath(url: string, schema: string): string {
  const own = withoutOptions(url);
  return `${own}${own.includes('?') ? '&' : '?'}options=${encodeURIComponent(`-c search_path=${schema}`)}`;
}

async function asAdministrator<T>(
  url: string,
  { limitMs = usualLimitMs }: ProvisionOptions,
  work: (client: Client) => Promise<T>,
): Promise<T> {
  try {
    return await withDatabase(url, limitMs, work);
  } catch (cause) {
    if (errorCode(cause) !== statementTimeout) throw cause;
    throw new OperatorFault(
      `A statement on the database took more than ${limitMs} ms: another start prepares it, or a session holds a lock. Wait for the other start or end that session, and start again.`,
      { cause },
    );
  }
}
