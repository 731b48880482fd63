import { operatorService } from '@agent-service/contracts';
import { LocalError } from '../host/local-error.ts';
import { clientOf, type LocalSystem } from '../system/system.ts';
import { bringUpDemonstration } from './database.ts';

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

/** How drivers call what a data source calls otherwise, or does not know. */
const modes: Readonly<Record<string, string | undefined>> = {
  disable: 'disable',
  require: 'require',
  'no-verify': 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};

/** An administrator's URL as one of a data source: of its parameters those that say where the server is and how to speak to it. */
export function sourceUrl(url: string): string {
  const source = new URL(url);
  const [host, mode] = [source.searchParams.get('host'), modes[source.searchParams.get('sslmode') ?? '']];
  source.search = new URLSearchParams({ ...(host !== null && { host }), ...(mode !== undefined && { sslmode: mode }) }).toString();
  return source.href;
}
