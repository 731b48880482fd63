import { parseNodes } from '@agent-service/queues/redis/settings';
import { askTopology } from '@agent-service/queues/redis/topology';
import { Client } from 'pg';
import { LocalError, reasonOf } from './local-error.ts';

const connectLimitMs = 5000;

/** Refuses a database that can not be used, with the words of a person who wants to mend it. */
export async function checkDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectLimitMs });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
  } catch (cause) {
    throw unusable('DATABASE_URL', url, 'PostgreSQL', cause);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** One server, or several of a cluster or of sentinels, of which one answers for all. */
export async function checkRedis(url: string, sentinelMaster: string | undefined): Promise<void> {
  try {
    await askTopology(parseNodes(url), sentinelMaster);
  } catch (cause) {
    throw unusable('REDIS_URL', url, 'Redis', cause);
  }
}

function unusable(setting: string, url: string, server: string, cause: unknown): LocalError {
  return new LocalError(
    `${setting} (${withoutPassword(url)}) can not be used: ${reasonOf(cause)}\nStart that server or correct ${setting}; without the setting, npm start brings up a ${server} of its own.`,
    { cause },
  );
}

/** Of a list of nodes, each may have a password of its own. */
function withoutPassword(urls: string): string {
  const hidden = (url: string) => {
    if (!URL.canParse(url)) return url;
    const shown = new URL(url);
    if (shown.password) shown.password = '***';
    return shown.href;
  };
  return urls.split(',').map(hidden).join(',');
}
