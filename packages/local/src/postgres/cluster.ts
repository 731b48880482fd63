import { execFile } from 'node:child_process';
import { chown, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readIfPresent } from '../files.ts';
import { LocalError } from '../local-error.ts';
import type { PostgresBinaries } from './binaries.ts';
import { initOptions, localeOptions, type PostgresProfile } from './profiles.ts';
import type { ServerUser } from './server-user.ts';

const run = promisify(execFile);

export interface ClusterOptions {
  readonly folder: string;
  readonly profile: PostgresProfile;
  readonly password: string;
  readonly user: ServerUser | undefined;
}

/** Makes the cluster where there is none. It appears whole or not at all, so a start that was cut short is made good by the next. */
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
    throw new LocalError(`PostgreSQL's cluster could not be made in ${draft}: ${(cause as { stderr?: string }).stderr ?? ''}`, { cause });
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function checkVersion(binaries: PostgresBinaries, found: string, folder: string): Promise<void> {
  const { stdout } = await run(binaries.postgres, ['--version'], { cwd: '/' });
  const major = /(\d+)/.exec(stdout)?.[1];
  if (major === found) return;
  throw new LocalError(
    `The cluster in ${folder} was made by PostgreSQL ${found}, and the installed one is ${major}. Start the former version to copy the data, or begin anew with: npm run reset`,
  );
}
