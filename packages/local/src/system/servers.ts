import { join } from 'node:path';
import { parseNodes } from '@agent-service/queues/redis/settings';
import { askTopology } from '@agent-service/queues/redis/topology';
import { OperatorFault, reasonOf } from '@agent-service/runtime/failures';
import { primaryUrl } from '@agent-service/store/servers/primary';
import { freePort } from '../host/ports.ts';
import type { PostgresProfile } from '../postgres/cluster.ts';
import { clusterFolder } from '../postgres/location.ts';
import { preparePostgres } from '../postgres/server.ts';
import { withDatabase } from '../postgres/with-database.ts';
import type { ManagedProcess } from '../processes/managed.ts';
import type { ProcessSpec } from '../processes/spec.ts';
import { prepareRedis } from '../redis/server.ts';
import { type DatabaseUrls, provisionGivenDatabase, provisionOwnServer, refuseOtherSystem } from './provision.ts';
import type { Secrets } from './secrets.ts';
import type { LocalSettings } from './settings.ts';

interface ServerContext {
  readonly settings: LocalSettings;
  readonly secrets: Secrets;
  readonly postgresProfile: PostgresProfile;
  readonly report: (line: string) => void;
  /** Keeps a server running and resolves when it is ready. */
  readonly run: (spec: ProcessSpec) => Promise<ManagedProcess>;
}

export interface Database {
  /** The administrator's URL of the system's database. */
  readonly adminUrl: string;
  readonly urls: DatabaseUrls;
  /** The URLs of schema owners, for services that run with another role. */
  readonly ownerUrls: DatabaseUrls;
}

/** The database that DATABASE_URL names, else one of our own; with a schema for each service. */
export async function bringUpDatabase(
  { settings, secrets, postgresProfile, report, run }: ServerContext,
  services: readonly string[],
  runtimeRoles: readonly string[],
): Promise<Database> {
  const options = { services, runtimeRoles, password: secrets.databasePassword };
  if (settings.DATABASE_URL) {
    const adminUrl = await checkDatabase(settings.DATABASE_URL);
    await refuseOtherSystem(settings.DATABASE_URL, options);
    const { urls, ownerUrls, note } = await provisionGivenDatabase(settings.DATABASE_URL, options);
    if (note) report(note);
    return { adminUrl, urls, ownerUrls };
  }
  const spec = await preparePostgres({
    folder: clusterFolder(settings.DATA_DIR),
    port: await freePort(),
    profile: postgresProfile,
    password: secrets.postgresPassword,
  });
  await run(spec);
  // Without it clients would follow PGSSLMODE, and this server has no TLS.
  return await provisionOwnServer(`${spec.url}?sslmode=disable`, options);
}

/** The Redis that REDIS_URL names, else one of our own. Resolves to its URL. */
export async function bringUpRedis({ settings, secrets, run }: Omit<ServerContext, 'postgresProfile'>): Promise<string> {
  if (settings.REDIS_URL) {
    await checkRedis(settings.REDIS_URL, settings.REDIS_SENTINEL_MASTER);
    return settings.REDIS_URL;
  }
  const spec = await prepareRedis({ folder: join(settings.DATA_DIR, 'redis'), port: await freePort(), password: secrets.redisPassword });
  await run(spec);
  return spec.url;
}

const connectLimitMs = 5000;

/** Refuses a database that cannot be used, and says how to correct it; of several servers, returns the URL of the one that accepts writes. */
async function checkDatabase(url: string): Promise<string> {
  try {
    const primary = await primaryUrl(url);
    await withDatabase(primary, connectLimitMs, (client) => client.query('select 1'));
    return primary;
  } catch (cause) {
    throw unusable('DATABASE_URL', url, 'PostgreSQL', cause);
  }
}

/** One server, or several of a cluster or of sentinels, of which one answers for all. */
async function checkRedis(url: string, sentinelMaster: string | undefined): Promise<void> {
  try {
    await askTopology(parseNodes(url), sentinelMaster);
  } catch (cause) {
    throw unusable('REDIS_URL', url, 'Redis', cause);
  }
}

function unusable(setting: string, url: string, server: string, cause: unknown): OperatorFault {
  return new OperatorFault(
    `${setting} (${withoutPassword(url)}) cannot be used: ${reasonOf(cause)}\nStart that server or correct ${setting}; without the setting, npm start brings up a ${server} of its own.`,
    { cause },
  );
}

/** Each node of a list may have its own password. */
const withoutPassword = (urls: string): string => urls.replaceAll(/(:\/\/[^:@/?#,]*):[^@/?#]*@/g, '$1:***@');
