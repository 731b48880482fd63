import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorFault } from '@agent-service/runtime/failures';
import { isMissing, readIfPresent, writeFileAtomically } from '../host/files.ts';

/** Holds clusters whose DATA_DIR the database's user cannot reach; it survives a reboot. */
const elsewhere = '/var/lib/agent-service';
const madeHere = /^\/var\/lib\/agent-service\/data-\w{6}\/postgres$/;
const noteName = 'postgres-location';
/** Beside such a cluster: names the DATA_DIR that it belongs to. */
const dataDirNoteName = 'data-dir';

/**
 * The cluster's folder: inside DATA_DIR, or, as root where a folder above it is closed to the user PostgreSQL runs as,
 * a reachable one that DATA_DIR keeps a note of.
 */
export function clusterFolder(dataDir: string): string {
  const inside = join(dataDir, 'postgres');
  const noted = notedLocation(dataDir);
  if (noted !== undefined) {
    // Also after DATA_DIR was moved, and where the folder was removed.
    giveFolder(noted, dataDir);
    return noted;
  }
  if (canEnter(dataDir, serverUser(inside))) return inside;
  mkdirSync(elsewhere, { recursive: true, mode: 0o755 });
  // A random name: after DATA_DIR was removed by hand there is a new cluster, and the old one is not overwritten.
  const outside = join(mkdtempSync(join(elsewhere, 'data-')), 'postgres');
  giveFolder(outside, dataDir);
  writeFileAtomically(join(dataDir, noteName), `${outside}\n`);
  return outside;
}

/** Makes the folder around a cluster, which the database's user can reach, and notes whose it is. */
function giveFolder(cluster: string, dataDir: string): void {
  const folder = dirname(cluster);
  mkdirSync(folder, { recursive: true });
  chmodSync(folder, 0o711);
  writeFileAtomically(join(folder, dataDirNoteName), `${realpathSync(dataDir)}\n`);
}

/** The folder outside of DATA_DIR that belongs to it, if there is one. Refused in a copy of that DATA_DIR. */
export function notedLocation(dataDir: string): string | undefined {
  const file = join(dataDir, noteName);
  const noted = readIfPresent(file)?.trim();
  // This folder is removed together with DATA_DIR.
  if (noted !== undefined && !madeHere.test(noted))
    throw new OperatorFault(
      `${file} does not name a cluster in ${elsewhere}, where this one must be. Write its folder there, as ${elsewhere}/data-…/postgres, or remove the file to start over.`,
    );
  if (noted !== undefined) refuseCopyWithoutDatabase(dataDir, noted);
  return noted;
}

/** A copy of DATA_DIR has the same note: its start would use the database of the original, and its reset remove it. */
function refuseCopyWithoutDatabase(dataDir: string, noted: string): void {
  const original = readIfPresent(join(dirname(noted), dataDirNoteName))?.trim();
  if (original === undefined || original === realpathSync(dataDir)) return;
  // Otherwise DATA_DIR was moved.
  if (readIfPresent(join(original, noteName))?.trim() !== noted) return;
  throw new OperatorFault(
    `${dataDir} is a copy of ${original}, whose database is in ${noted} and was not copied. Remove ${join(dataDir, noteName)} to use this folder with a database of its own, or to remove it.`,
  );
}

/** A user of this machine as whom a server is run. */
export interface ServerUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * PostgreSQL refuses to run as root. It runs as the owner of the cluster, else as the user `postgres`, else as uid 65534.
 * Undefined if this process is not root's: the server runs as the same user.
 */
export function serverUser(clusterFolder: string): ServerUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const user = userOf(clusterFolder) ?? userNamed('postgres') ?? userNamed('nobody');
  if (!user)
    throw new OperatorFault(
      'PostgreSQL does not run as root, and this machine has no other user for it. Create a user "postgres", or set DATABASE_URL.',
    );
  return user;
}

function userOf(folder: string): ServerUser | undefined {
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

/** True if that user can enter this folder and all above it. The system decides, because it also knows access lists. */
function canEnter(folder: string, user: ServerUser | undefined): boolean {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { ...user, cwd: '/' }).status === 0;
}
