import { OperatorFault } from '@agent-service/runtime/failures';
import { createBackoff, retry } from '@agent-service/work';
import { type Client, DatabaseError } from 'pg';
import { withDatabase } from '../postgres/with-database.ts';
import { companyOn } from './company.ts';
import { comments, type TableName, tables } from './schema.ts';
import type { Day, Row } from './values.ts';

/** Two starts on one server take this lock in turn. */
const advisoryLock = 727_274_002;
const limitMs = 60_000;
const rowsAtOnce = 2_000;
const maxAttempts = 8;

interface DemonstrationOptions {
  /** The URL of an administrator of the system's own database. */
  readonly adminUrl: string;
  readonly readerPassword: string;
  /** The last day of the company's history; the database's own day unless given, and never the day of this computer's clock. */
  readonly today?: Day;
  /** Told where data of a former day are kept, because they cannot be replaced. Without it that is a failure. */
  readonly report?: (line: string) => void;
}

interface Rights {
  database: string;
  may_create_databases: boolean;
  may_create_roles: boolean;
  /** Before PostgreSQL 16 a role that may make roles has power over all others. */
  may_lend_roles: boolean;
}

/**
 * Creates the demonstration company's database, again when its day is past, and returns the URL of a role that may only read it.
 * An administrator that may not create databases gets a schema beside the services' own, for a role that sees nothing else.
 */
export function bringUpDemonstration(options: DemonstrationOptions): Promise<string> {
  const backoff = createBackoff({ firstMs: 50, maxMs: 1_000, jitter: 1 });
  const pauseAfter = (failures: number, cause: unknown) => (isConflict(cause) && failures < maxAttempts ? backoff(failures) : undefined);
  return retry(() => bringUp(options), { pauseAfter });
}

/**
 * "tuple concurrently updated": rights on the same database, schema or table were granted at the same time, as to the role of an agent's
 * scope while a worker is already running.
 */
const isConflict = (cause: unknown): boolean => cause instanceof DatabaseError && cause.code === 'XX000';

async function bringUp({ adminUrl, readerPassword, today: lastDay, report }: DemonstrationOptions): Promise<string> {
  const rights = await withDatabase(adminUrl, limitMs, rightsOf);
  if (!rights.may_create_databases && !rights.may_create_roles)
    throw new OperatorFault('The role of DATABASE_URL may make neither databases nor roles: the demonstration has no business data.');
  const target = rights.may_create_databases ? await ownDatabase(adminUrl, rights.database) : { url: adminUrl, schema: 'demonstration' };
  return await withDatabase(target.url, limitMs, async (client) => {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLock]);
    await client.query(`create schema if not exists ${target.schema}`);
    await client.query(`set local search_path = ${target.schema}`);
    const today = lastDay ?? (await readToday(client));
    const day = await dayOfData(client, target.schema);
    if (day === undefined) await fill(client, target.schema, today);
    else if (day !== today) await refill(client, target.schema, today).catch(keepFormer(client, day, report));
    const reader = rights.may_create_roles ? await makeReader(client, { ...target, ...rights, readerPassword }) : target.url;
    await client.query('commit');
    return reader;
  });
}

async function rightsOf(client: Client): Promise<Rights> {
  const { rows } = await client.query<Rights>(
    `select current_database()::text as database, rolsuper or rolcreatedb as may_create_databases,
            rolsuper or rolcreaterole as may_create_roles,
            rolsuper and current_setting('server_version_num')::integer >= 160000 as may_lend_roles
     from pg_roles where rolname = current_user`,
  );
  return rows[0] as Rights;
}

async function ownDatabase(adminUrl: string, beside: string): Promise<{ url: string; schema: string }> {
  const name = `${beside.slice(0, 40)}_demonstration`;
  await withDatabase(adminUrl, limitMs, async (client) => {
    // Not in a transaction, which cannot create databases: two starts take the lock of the session in turn.
    await client.query('select pg_advisory_lock($1)', [advisoryLock]);
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
    if (rowCount === 0) await client.query(`create database ${client.escapeIdentifier(name)}`);
    await client.query(`revoke all on database ${client.escapeIdentifier(name)} from public`);
  });
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return { url: url.href, schema: 'public' };
}

async function readToday(client: Client): Promise<Day> {
  const { rows } = await client.query<{ today: Day }>("select (now() at time zone 'utc')::date::text as today");
  return rows[0]?.today as Day;
}

/** The day up to which the company's history goes; it is kept in the schema's comment. */
async function dayOfData(client: Client, schema: string): Promise<Day | undefined> {
  const { rows } = await client.query<{ comment: string | null }>(
    "select obj_description(oid, 'pg_namespace') as comment from pg_namespace where nspname = $1",
    [schema],
  );
  return /^Demonstration data of (\S+)$/.exec(rows[0]?.comment ?? '')?.[1];
}

/** Other sessions may use the tables, and other objects may depend on them. */
async function refill(client: Client, schema: string, today: Day): Promise<void> {
  await client.query("savepoint former; set local lock_timeout = '10s'");
  await fill(client, schema, today);
  await client.query('set local lock_timeout to default');
}

const keepFormer =
  (client: Client, day: Day, report: DemonstrationOptions['report']) =>
  async (cause: unknown): Promise<void> => {
    if (!report || !(cause instanceof DatabaseError) || isConflict(cause)) throw cause;
    await client.query('rollback to savepoint former');
    report(`The demonstration keeps its data of ${day}, which cannot be replaced: ${cause.message}.`);
  };

async function fill(client: Client, schema: string, today: Day): Promise<void> {
  const names = Object.keys(tables) as TableName[];
  for (const name of names.toReversed()) await client.query(`drop table if exists ${name}`);
  const company = companyOn(today);
  for (const name of names) {
    await client.query(`create table ${name} (${tables[name]})`);
    await client.query(`comment on table ${name} is ${client.escapeLiteral(comments[name])}`);
    await insert(client, name, company[name]);
    await client.query(`analyze ${name}`);
  }
  await client.query(`comment on schema ${schema} is ${client.escapeLiteral(`Demonstration data of ${today}`)}`);
}

async function insert(client: Client, name: TableName, rows: readonly Row[]): Promise<void> {
  for (let from = 0; from < rows.length; from += rowsAtOnce)
    await client.query(`insert into ${name} select * from json_populate_recordset(null::${name}, $1)`, [
      JSON.stringify(rows.slice(from, from + rowsAtOnce)),
    ]);
}

interface Reader extends Rights {
  readonly url: string;
  readonly schema: string;
  readonly readerPassword: string;
}

/** The reader may grant what it reads to roles that it creates, because each agent's scope has one. */
async function makeReader(client: Client, { url, schema, database, readerPassword, may_lend_roles }: Reader): Promise<string> {
  const [makesRoles, handsOn] = may_lend_roles ? ['createrole', 'with grant option'] : ['nocreaterole', ''];
  const role = `${database.slice(0, 40)}_demonstration_reader`;
  const id = client.escapeIdentifier(role);
  const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1', [role]);
  if (rowCount === 0) await client.query(`create role ${id}`);
  await client.query(`alter role ${id} login ${makesRoles} password ${client.escapeLiteral(readerPassword)} connection limit 50`);
  const { rows } = await client.query<{ here: string }>('select current_database()::text as here');
  const databaseId = client.escapeIdentifier(rows[0]?.here as string);
  await client.query(`alter role ${id} in database ${databaseId} set search_path = ${schema}`);
  await client.query(`alter role ${id} in database ${databaseId} set default_transaction_read_only = on`);
  await client.query(`grant connect on database ${databaseId} to ${id} ${handsOn}`);
  await client.query(`grant usage on schema ${schema} to ${id} ${handsOn}`);
  await client.query(`grant select on all tables in schema ${schema} to ${id} ${handsOn}`);
  const own = new URL(url);
  [own.username, own.password] = [encodeURIComponent(role), encodeURIComponent(readerPassword)];
  return own.href;
}
