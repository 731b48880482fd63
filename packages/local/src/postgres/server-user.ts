import { spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { isMissing, readIfPresent } from '../files.ts';
import { LocalError } from '../local-error.ts';

/** A user of this machine as whom a server is run. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * PostgreSQL refuses to run as root. The user it runs as then: whoever owns the cluster already, else `postgres`, else `nobody`.
 * Undefined when this process is not root's: the server runs as the same user.
 */
export function serverUser(clusterFolder: string): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const user = ownerOf(clusterFolder) ?? userNamed('postgres') ?? userNamed('nobody');
  if (!user)
    throw new LocalError(
      'PostgreSQL does not run as root, and there is neither a user "postgres" nor "nobody". Create one, or set DATABASE_URL.',
    );
  return user;
}

function ownerOf(folder: string): ServerUser | undefined {
  try {
    const { uid, gid } = statSync(folder);
    return uid === 0 ? undefined : { uid, gid };
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw cause;
  }
}

function userNamed(name: string): ServerUser | undefined {
  const line = (readIfPresent('/etc/passwd') ?? '').split('\n').find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Whether that user gets through all the folders above and into this one: asked of the system, which also knows access lists. */
export function canEnter(folder: string, user: ServerUser | undefined): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...user, cwd: '/' }).status === 0;
}
