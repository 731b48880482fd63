import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { sharedInfrastructure } from '../infrastructure/settings.ts';

export interface TestDatabase {
  /** The administrator's URL of a database that no other file uses. */
  readonly url: string;
  /** Removes the database with its sessions, and the roles that a system made for it. */
  drop(): Promise<void>;
}

/** Contents that the databases of many test files begin with. They are made once in a run, and copied. */
export interface DatabaseContents {
  /** Other contents have another name: letters and underscores. */
  readonly name: string;
  make(url: string): Promise<unknown>;
}

const firstWithStrategies = 150_000;

/** A database of its own for a test file, empty or with these contents. */
export async function testDatabase(contents?: DatabaseContents): Promise<TestDatabase> {
  const { postgresUrl } = sharedInfrastructure();
  const name = `test_${randomBytes(6).toString('hex')}`;
  await withDatabase(postgresUrl, async (client) => {
    const template = contents === undefined ? 'template0' : await templateWith(client, contents);
    const { rows } = await client.query<{ version: number }>("select current_setting('server_version_num')::int as version");
    const strategy = (rows[0]?.version ?? 0) >= firstWithStrategies ? ' strategy file_copy' : '';
    await client.query(`create database ${name} template ${template}${strategy}`);
  });
  return { url: urlOf(name), drop: () => withDatabase(postgresUrl, (client) => drop(client, name)) };
}

/** The database that has the contents; the first test file that asks makes it, and it stays until the run ends with its server. */
async function templateWith(client: Client, { name, make }: DatabaseContents): Promise<string> {
  const template = `contents_${name}`;
  await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [template]);
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [template]);
  if (rowCount === 0) {
    const unfinished = `${template}_unfinished`;
    await client.query(`drop database if exists ${unfinished} with (force)`);
    await client.query(`create database ${unfinished} template template0`);
    await make(urlOf(unfinished));
    await untilLeft(client, unfinished);
    await client.query(`alter database ${unfinished} rename to ${template}`);
  }
  await client.query('select pg_advisory_unlock(hashtextextended($1, 0))', [template]);
  return template;
}

function urlOf(database: string): string {
  const url = new URL(sharedInfrastructure().postgresUrl);
  url.pathname = `/${database}`;
  return url.href;
}

async function drop(client: Client, name: string): Promise<void> {
  const { rows: databases } = await client.query<{ datname: string }>(
    'select datname from pg_database where datname = $1 or starts_with(datname, $2)',
    [name, `${name}_`],
  );
  await untilLeft(client, name);
  for (const { datname } of databases) await client.query(`drop database if exists ${client.escapeIdentifier(datname)} with (force)`);
  const { rows } = await client.query<{ rolname: string }>('select rolname from pg_roles where starts_with(rolname, $1)', [`${name}_`]);
  for (const { rolname } of rows) await client.query(`drop role ${client.escapeIdentifier(rolname)}`);
}

/** Connects to a database for as long as the work takes. */
export async function withDatabase<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** How many sessions of the database wait for a lock, with a statement that contains what this pattern of `ilike` describes. */
export async function countLockWaits(url: string, statement = ''): Promise<number> {
  const waiting = `select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query ilike '%' || $1 || '%'`;
  return await withDatabase(url, async (client) => (await client.query(waiting, [statement])).rows.length);
}

const leavingMs = 1_000;

/** Connections that are being closed are let go: one that is cut in the middle of it would be a fault without a listener. */
async function untilLeft(client: Client, name: string): Promise<void> {
  const end = performance.now() + leavingMs;
  const connected = 'select 1 from pg_stat_activity where datname = $1 or starts_with(datname, $2) limit 1';
  while (performance.now() < end) {
    const { rowCount } = await client.query(connected, [name, `${name}_`]);
    if (rowCount === 0) return;
    await pause(10);
  }
}
