import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { commandFolders } from '../environment.ts';
import { LocalError } from '../local-error.ts';
import { debianRedis } from './debian.ts';
import type { RedisBinary } from './redis-binary.ts';

const commands = ['redis-server', 'valkey-server'];
const oldest = [6, 2] as const;

/** The server found on this machine, or unpacked from Debian's packages into the cache, or an error that says what to install. */
export async function findRedis(): Promise<RedisBinary> {
  const found = installed();
  if (found) return found;
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

/** Whether the program starts at all, and is new enough. */
function works({ path, env }: RedisBinary): boolean {
  const { status, stdout } = spawnSync(path, ['--version'], { env: { ...env }, encoding: 'utf8' });
  const [, major, minor] = /v=(\d+)\.(\d+)/.exec(stdout ?? '') ?? [];
  if (status !== 0 || major === undefined) return false;
  return Number(major) > oldest[0] || (Number(major) === oldest[0] && Number(minor) >= oldest[1]);
}
