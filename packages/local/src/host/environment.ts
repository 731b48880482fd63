import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The environment of this process; nothing else in this package reads it. */
export const environment: Readonly<NodeJS.ProcessEnv> = process.env;

/** Keeps fetched binaries between runs and checkouts. */
export function cacheFolder(): string {
  return join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'agent-service');
}

/** The folders in which commands are looked for: those of PATH and where package managers put servers. */
export function commandFolders(): string[] {
  const named = (environment['PATH'] ?? '').split(delimiter).filter(Boolean);
  return [...new Set([...named, '/usr/local/bin', '/usr/bin', '/usr/sbin', '/opt/homebrew/bin'])];
}

/** The operator's variables that PostgreSQL and Redis get. */
export const serverEnvironment: Readonly<Record<string, string>> = Object.fromEntries(
  ['PATH', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH'].flatMap((name) =>
    environment[name] === undefined ? [] : [[name, environment[name]]],
  ),
);

/** The repository's root. */
export const repositoryRoot = fileURLToPath(new URL('../../../..', import.meta.url));

/** The folder of the build that this process runs from; undefined if it runs from the sources. */
export const ownBuild = import.meta.filename.endsWith('.js') ? import.meta.dirname : undefined;
