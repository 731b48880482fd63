import { execFile, spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder, commandFolders } from '../host/environment.ts';
import { errorCode } from '../host/files.ts';
import { LocalError } from '../host/local-error.ts';

const commands = ['redis-server', 'valkey-server'];
const oldest = [6, 2] as const;

/** The server found on this machine, or unpacked from Debian's packages into the cache, or an error that says what to install. */
export async function findRedis(): Promise<RedisBinary> {
  const binary = installed();
  if (binary) return binary;
  const unpacked = await debianRedis(works);
  if (unpacked) return unpacked;
  throw new LocalError(
    `No Redis was found on this machine. Install one (apt-get install redis-server, brew install redis, or valkey-server; version ${oldest.join('.')} or newer), or set REDIS_URL to one that runs elsewhere.`,
  );
}

function installed(): RedisBinary | undefined {
  const paths = commands.flatMap((command) => commandFolders().map((folder) => join(folder, command)));
  return paths.map((path) => ({ path, env: {} })).find((binary) => existsSync(binary.path) && works(binary));
}

/** True if the program starts and is new enough. */
function works({ path, env }: RedisBinary): boolean {
  const { status, stdout } = spawnSync(path, ['--version'], { env: { ...env }, encoding: 'utf8' });
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (status !== 0 || major === undefined) return false;
  return Number(major) > oldest[0] || (Number(major) === oldest[0] && Number(minor) >= oldest[1]);
}

const run = promisify(execFile);

/**
 * A Redis out of the Debian or Ubuntu packages, unpacked into the cache and not installed: no system service, no root.
 * Undefined where there is no apt or it cannot get them.
 */
async function debianRedis(works: (binary: RedisBinary) => boolean): Promise<RedisBinary | undefined> {
  const folder = join(cacheFolder(), `redis-${process.arch}`);
  const cached = binaryIn(folder);
  if (cached && works(cached)) return cached;
  if (!['apt-get', 'dpkg'].every(onPath)) return undefined;
  await rm(folder, { recursive: true, force: true });
  await unpackInto(folder);
  const unpacked = binaryIn(folder);
  return unpacked && works(unpacked) ? unpacked : undefined;
}

function onPath(command: string): boolean {
  return commandFolders().some((folder) => existsSync(join(folder, command)));
}

function binaryIn(folder: string): RedisBinary | undefined {
  const path = ['redis-server', 'valkey-server']
    .map((command) => join(folder, 'usr', 'bin', command))
    .find((candidate) => existsSync(candidate));
  const libraries = globSync(['usr/lib/*-linux-gnu*', 'lib/*-linux-gnu*'], { cwd: folder }).map((library) => join(folder, library));
  return path ? { path, env: { LD_LIBRARY_PATH: libraries.join(':') } } : undefined;
}

async function unpackInto(folder: string): Promise<void> {
  await mkdir(cacheFolder(), { recursive: true });
  const draft = await mkdtemp(join(cacheFolder(), 'draft-'));
  try {
    if (!(await download(draft)) && !((await refreshLists()) && (await download(draft)))) return;
    for (const name of (await readdir(draft)).filter((file) => file.endsWith('.deb')))
      await run('dpkg', ['-x', name, 'root'], { cwd: draft });
    await rename(join(draft, 'root'), folder).catch((cause: unknown) => {
      // Another start was faster, and its result is the same.
      if (!['EEXIST', 'ENOTEMPTY'].includes(errorCode(cause) ?? '')) throw cause;
    });
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function download(into: string): Promise<boolean> {
  for (const server of ['redis-server', 'valkey-server']) {
    const packages = await missingPackages(server);
    if (packages.length > 0 && (await succeeds('apt-get', ['download', '-q', ...packages], into))) return true;
  }
  return false;
}

/** The package and what it needs that this machine does not have: asked of apt, since the libraries' names differ by release. */
async function missingPackages(name: string): Promise<string[]> {
  try {
    const options = ['install', '--print-uris', '-qq', '-y', '--no-install-recommends', '-o', 'Debug::NoLocking=1', name];
    const { stdout } = await run('apt-get', options);
    return [...stdout.matchAll(/^'[^']+' ([^_\s]+)_/gm)].flatMap((match) => match[1] ?? []);
  } catch {
    // The lists do not have the package; the caller decides.
    return [];
  }
}

/** On a bare machine the package lists are empty, and only root may fill them. */
async function refreshLists(): Promise<boolean> {
  return process.getuid?.() === 0 && (await succeeds('apt-get', ['update', '-qq'], '/'));
}

async function succeeds(command: string, options: string[], cwd: string): Promise<boolean> {
  return await run(command, options, { cwd, timeout: 120_000 }).then(
    () => true,
    () => false,
  );
}

/** A Redis or Valkey server on this machine, with its environment. */
interface RedisBinary {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}
