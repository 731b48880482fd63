import { join, resolve } from 'node:path';
import { ownBuild, repositoryRoot } from '../host/environment.ts';
import { nodeProcess } from '../processes/spec.ts';
import type { CatalogueEntry } from './catalogue.ts';
import { childEnvironment } from './environment.ts';
import type { Instance } from './plan.ts';
import type { Secrets } from './secrets.ts';
import type { Database } from './servers.ts';
import type { LocalSettings } from './settings.ts';
import type { Stack } from './stack.ts';

interface ServicesOptions {
  readonly instances: readonly Instance[];
  readonly operator: Readonly<NodeJS.ProcessEnv>;
  /** The variables that the models file names as keys. */
  readonly modelKeys: readonly string[];
  readonly secrets: Secrets;
  readonly database: Database;
  readonly redisUrl: string;
  readonly settings: LocalSettings;
  readonly stack: Stack;
  /** The folder of a build whose bundles are run; the build of this process by default, and the sources if it has none. */
  readonly build: string | undefined;
}

/**
 * Begins all processes of the plan, which load their code at the same time. The result starts those that are asked for, and waits until every
 * one is ready.
 */
export function startServices({ instances, database, settings, stack, build = ownBuild, ...options }: ServicesOptions) {
  const compileCache = join(build ?? settings.DATA_DIR, 'compile-cache');
  const databaseUrlsOf = (name: string) => ({ databaseUrl: database.urls[name], databaseOwnerUrl: database.ownerUrls[name] });
  const prepare = (instance: Instance) => {
    const { entry, name, opsPort } = instance;
    const env = childEnvironment({
      ...options,
      instance,
      instances,
      compileCache,
      publicHost: settings.LISTEN_HOST,
      ...databaseUrlsOf(entry.name),
    });
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const program = { name, entry: programOf(entry, build), workingFolder: repositoryRoot };
    return { entry, release, process: stack.prepare(nodeProcess({ ...program, env, opsPort, released })) };
  };
  const prepared = instances.map(prepare);
  return async (what: string, isSelected: (entry: CatalogueEntry) => boolean): Promise<void> => {
    const selected = prepared.filter(({ entry }) => isSelected(entry));
    if (selected.length === 0) return;
    const start = ({ release, process }: (typeof selected)[number]) => {
      release();
      return stack.start(process);
    };
    await stack.together(`${what} (${selected.map(({ process }) => process.name).join(', ')})`, selected.map(start));
  };
}

/** Entries with a file outside of the services, as in tests, have no bundle. */
function programOf({ name, entry }: CatalogueEntry, build: string | undefined): string {
  return build !== undefined && entry.startsWith('services/') ? join(build, `${name}.js`) : resolve(repositoryRoot, entry);
}
