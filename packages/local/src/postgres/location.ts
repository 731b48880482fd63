import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readIfPresent, writeFileAtomically } from '../files.ts';
import { LocalError } from '../local-error.ts';
import { canEnter, serverUser } from './server-user.ts';

/** Where clusters go whose DATA_DIR the database's user can not reach: system state that survives a reboot. */
const elsewhere = '/var/lib/agent-service';
const madeHere = /^\/var\/lib\/agent-service\/data-\w{6}\/postgres$/;
const noteName = 'postgres-location';

/**
 * The cluster's folder: inside DATA_DIR, or, as root where a folder above it is closed to the user PostgreSQL runs as,
 * a reachable one that DATA_DIR keeps a note of.
 */
export function clusterFolder(dataDir: string): string {
  const inside = join(dataDir, 'postgres');
  const noted = notedLocation(dataDir);
  if (noted !== undefined) return noted;
  if (canEnter(dataDir, serverUser(inside))) return inside;
  mkdirSync(elsewhere, { recursive: true, mode: 0o755 });
  // A name of its own: whoever removed DATA_DIR by hand gets a new cluster, and never loses an old one to a mistake.
  const outside = join(mkdtempSync(join(elsewhere, 'data-')), 'postgres');
  chmodSync(dirname(outside), 0o711);
  writeFileAtomically(join(dataDir, noteName), `${outside}\n`);
  return outside;
}

/** The folder outside of DATA_DIR that belongs to it, if there is one. */
export function notedLocation(dataDir: string): string | undefined {
  const file = join(dataDir, noteName);
  const noted = readIfPresent(file)?.trim();
  // Whatever stands there will be removed with DATA_DIR.
  if (noted !== undefined && !madeHere.test(noted))
    throw new LocalError(
      `${file} does not name a cluster in ${elsewhere}, where this one must be. Write its folder there, as ${elsewhere}/data-…/postgres, or remove the file to begin anew.`,
    );
  return noted;
}
