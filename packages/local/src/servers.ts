import { join } from 'node:path';
import { checkDatabase, checkRedis } from './connection-check.ts';
import { freePort } from './ports.ts';
import { clusterFolder } from './postgres/location.ts';
import { preparePostgres } from './postgres/server.ts';
import type { ManagedProcess } from './processes/managed.ts';
import type { ProcessSpec } from './processes/spec.ts';
import { type DatabaseUrls, provisionGivenDatabase, provisionOwnServer } from './provision.ts';
import { prepareRedis } from './redis/server.ts';
import type { Secrets } from './secrets.ts';
import type { LocalSettings } from './settings.ts';

export interface ServerContext {
  readonly settings: LocalSettings;
  readonly secrets: Secrets;
  readonly report: (line: string) => void;
  /** Keeps a server running and resolves when it is ready. */
  readonly run: (spec: ProcessSpec) => Promise<ManagedProcess>;
}

export interface Database {
  /** The administrator's URL of the system's database. */
  readonly adminUrl: string;
  readonly urls: DatabaseUrls;
  /** Of services that do not run with the role that owns their schema. */
  readonly ownerUrls: DatabaseUrls;
}

/** The database that DATABASE_URL names, else one of our own; with a schema for each service. */
export async function bringUpDatabase(
  { settings, secrets, report, run }: ServerContext,
  services: readonly string[],
  runtimeRoles: readonly string[],
): Promise<Database> {
  const options = { services, runtimeRoles, password: secrets.databasePassword };
  if (settings.DATABASE_URL) {
    await checkDatabase(settings.DATABASE_URL);
    const { urls, ownerUrls, note } = await provisionGivenDatabase(settings.DATABASE_URL, options);
    if (note) report(note);
    return { adminUrl: settings.DATABASE_URL, urls, ownerUrls };
  }
  const spec = await preparePostgres({
    folder: clusterFolder(settings.DATA_DIR),
    port: await freePort(),
    profile: 'durable',
    password: secrets.postgresPassword,
  });
  await run(spec);
  return await provisionOwnServer(spec.url, options);
}

/** The Redis that REDIS_URL names, else one of our own. Answers with its URL. */
export async function bringUpRedis({ settings, secrets, run }: ServerContext): Promise<string> {
  if (settings.REDIS_URL) {
    await checkRedis(settings.REDIS_URL, settings.REDIS_SENTINEL_MASTER);
    return settings.REDIS_URL;
  }
  const spec = await prepareRedis({ folder: join(settings.DATA_DIR, 'redis'), port: await freePort(), password: secrets.redisPassword });
  await run(spec);
  return spec.url;
}
