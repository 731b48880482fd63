import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { OperatorFault } from '@agent-service/runtime/failures';
import { withTimeout } from '@agent-service/work';
import { Redis } from 'ioredis';
import { cacheFolder, commandFolders } from '../host/environment.ts';
import { errorCode, writeFileAtomically } from '../host/files.ts';
import { outputTo, type ServerSpec } from '../processes/spec.ts';

interface RedisOptions {
  readonly folder: string;
  readonly port: number;
  /** Without a password every local process has access: for tests only. */
  readonly password?: string;
  /** The number of logical databases; 16 unless given. */
  readonly databases?: number;
  /** Further lines of its configuration. */
  readonly directives?: readonly string[];
  /** Runs it as a sentinel, which watches over other servers and holds no data. */
  readonly sentinel?: boolean;
}

/** The spec of a Redis that keeps nothing on disk, because all its content can be rebuilt. */
export async function prepareRedis({
  folder,
  port,
  password,
  databases = 16,
  directives = [],
  sentinel = false,
}: RedisOptions): Promise<ServerSpec> {
  const binary = await findRedis();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const settings: Record<string, string> = {
    port: String(port),
    bind: '127.0.0.1',
    save: '""',
    appendonly: 'no',
    'maxmemory-policy': 'noeviction',
    databases: String(databases),
    dir: JSON.stringify(folder),
    ...(password === undefined ? {} : { requirepass: password }),
  };
  // In a file and not on the command line, where every user of the machine could read the password.
  const file = join(folder, 'redis.conf');
  const lines = [...Object.entries(settings).map((entry) => entry.join(' ')), ...directives];
  writeFileAtomically(file, lines.map((line) => `${line}\n`).join(''));
  const url = `redis://${password === undefined ? '' : `:${encodeURIComponent(password)}@`}127.0.0.1:${port}`;
  const options = sentinel ? [file, '--sentinel'] : [file];
  return {
    name: 'redis',
    url,
    spawn: (log) => spawn(binary.path, options, { env: { ...binary.env }, cwd: '/', detached: true, stdio: outputTo(log) }),
    isReady: () => answersPing(url),
    stopSignal: 'SIGTERM',
    stopLimitMs: 5000,
  };
}

const pingLimitMs = 3000;

/** Asks once if a Redis answers at this URL. */
async function answersPing(url: string): Promise<boolean> {
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: pingLimitMs,
    disconnectTimeout: 20,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  // Without a listener ioredis prints the error.
  client.on('error', () => undefined);
  try {
    await withTimeout(
      client.connect().then(() => client.ping()),
      pingLimitMs,
      () => new Error(`no answer within ${pingLimitMs} ms`),
    );
    return true;
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

/** Each is also the name of its package. */
const commands = ['redis-server', 'valkey-server'];
const oldest = [6, 2] as const;

/** The server found on this machine, or unpacked from Debian's packages into the cache, or an error that says what to install. */
async function findRedis(): Promise<RedisBinary> {
  const binary = findInstalled();
  if (binary) return binary;
  const unpacked = await debianRedis();
  if (unpacked) return unpacked;
  throw new OperatorFault(
    `No Redis was found on this machine. Install one (apt-get install redis-server, brew install redis, or valkey-server; version ${oldest.join('.')} or newer), or set REDIS_URL to one that runs elsewhere.`,
  );
}

function findInstalled(): RedisBinary | undefined {
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
async function debianRedis(): Promise<RedisBinary | undefined> {
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
  const path = commands.map((command) => join(folder, 'usr', 'bin', command)).find((candidate) => existsSync(candidate));
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
  for (const command of commands) {
    const packages = await missingPackages(command);
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
