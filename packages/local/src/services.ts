import { join, resolve } from 'node:path';
import type { CatalogueEntry } from './catalogue.ts';
import { childEnvironment } from './child-environment.ts';
import type { Instance } from './plan.ts';
import { nodeProcess } from './processes/node-process.ts';
import { repositoryRoot } from './root.ts';
import type { Secrets } from './secrets.ts';
import type { Database } from './servers.ts';
import type { LocalSettings } from './settings.ts';
import type { Stack } from './stack.ts';

export interface ServicesOptions {
  readonly instances: readonly Instance[];
  readonly operator: Readonly<NodeJS.ProcessEnv>;
  readonly secrets: Secrets;
  readonly database: Database;
  readonly redisUrl: string;
  readonly settings: LocalSettings;
  readonly stack: Stack;
}

/** Starts those processes of the plan that are asked for, all at once, and waits until every one is ready. */
export function startServices({ instances, database, settings, stack, ...given }: ServicesOptions) {
  const compileCache = join(settings.DATA_DIR, 'compile-cache');
  const databaseUrlsOf = (name: string) => ({ databaseUrl: database.urls[name], databaseOwnerUrl: database.ownerUrls[name] });
  const start = (instance: Instance) => {
    const { entry, name, opsPort } = instance;
    const env = childEnvironment({ ...given, instance, instances, compileCache, ...databaseUrlsOf(entry.name) });
    return stack.run(nodeProcess({ name, entry: resolve(repositoryRoot, entry.entry), workingFolder: repositoryRoot, env, opsPort }));
  };
  return async (what: string, wanted: (entry: CatalogueEntry) => boolean): Promise<void> => {
    const chosen = instances.filter(({ entry }) => wanted(entry));
    if (chosen.length === 0) return;
    await stack.together(`${what} (${chosen.map(({ name }) => name).join(', ')})`, chosen.map(start));
  };
}
