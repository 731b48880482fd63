import { operatorService } from '@agent-service/contracts';
import { clientOf } from '../client-of.ts';
import { LocalError } from '../local-error.ts';
import type { LocalSystem } from '../system.ts';
import { bringUpDemonstration } from './database.ts';
import { sourceUrl } from './source-url.ts';

const environments = ['live', 'test'];
const connectLimitMs = 20_000;

/**
 * Connects the demonstration company to the demonstration organization in both environments, with data up to today. A database that
 * an operator has connected in its place stays.
 */
export async function connectDemonstration(system: LocalSystem, organizationId: string, report: (line: string) => void): Promise<void> {
  const url = await bringUp(system, report);
  if (url === undefined) return;
  const agents = clientOf(system, 'agents', operatorService);
  try {
    const { dataSources } = await agents.listDataSources({ organizationId });
    for (const environment of environments) {
      const connected = dataSources.find((source) => source.environment === environment);
      if (connected && !isOurs(connected, url)) continue;
      // Also when it is ours already: its port and its password may be others than at the last start.
      await agents.connectDataSource({ organizationId, environment, url }, { timeoutMs: connectLimitMs });
    }
  } finally {
    agents.close();
  }
}

async function bringUp({ endpoints, demonstrationPassword }: LocalSystem, report: (line: string) => void): Promise<string | undefined> {
  try {
    const options = { adminUrl: endpoints['postgres'] ?? '', readerPassword: demonstrationPassword };
    return sourceUrl(await bringUpDemonstration(options));
  } catch (cause) {
    if (!(cause instanceof LocalError)) throw cause;
    report(cause.message);
    return undefined;
  }
}

function isOurs({ database, user }: { database: string; user: string }, url: string): boolean {
  const { pathname, username } = new URL(url);
  return database === decodeURIComponent(pathname.slice(1)) && user === decodeURIComponent(username);
}
