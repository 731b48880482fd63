import { join } from 'node:path';
import { operatorService } from '@agent-service/contracts';
import { bringUpDemonstration } from './demonstration/database.ts';
import { writeJson } from './host/files.ts';
import { LocalError } from './host/local-error.ts';
import { type Credentials, readCredentials } from './system/secrets.ts';
import { type CallableSystem, clientOf, type LocalSystem } from './system/system.ts';

const organizationName = 'Demonstration';
const administrator = 'admin@demonstration.example';
/** The opening credits of the live environment; every organization's test environment has as many by default. */
const openingGrant = { grantId: 'demonstration', amount: '100000' };

/** A system whose gateway is about to start. `endpoints.postgres` is the URL of an administrator of its database. */
export type SeedableSystem = CallableSystem & Pick<LocalSystem, 'url' | 'dataDir' | 'demonstrationPassword'>;

/**
 * Makes the demonstration organization with its business data and leaves its credentials in DATA_DIR, before the gateway starts, so that
 * they exist once it is ready. The credentials of an earlier start stay while identity accepts them.
 */
export async function seed(system: SeedableSystem, report: (line: string) => void = () => undefined): Promise<void> {
  const file = join(system.dataDir, 'credentials.json');
  const known = readCredentials(file);
  const credentials = known && (await stillValid(system, known)) ? known : await makeCredentials(system);
  await grantCredits(system, credentials.organization_id);
  await connectDemonstration(system, credentials.organization_id, report);
  writeJson(file, { ...credentials, base_url: system.url });
}

async function makeCredentials(system: SeedableSystem): Promise<Credentials> {
  const identity = clientOf(system, 'identity', operatorService);
  try {
    const organization = await identity.createOrganization({ name: organizationName, email: administrator });
    const application = await identity.createOauthClient({ organizationId: organization.organizationId, environment: 'live' });
    return {
      base_url: system.url,
      organization_id: organization.organizationId,
      api_keys: { live: organization.liveApiKey, test: organization.testApiKey },
      oauth: { client_id: application.clientId, client_secret: application.clientSecret },
    };
  } finally {
    identity.close();
  }
}

/** Authenticates like a gateway, because only identity knows which keys are valid. */
async function stillValid(system: SeedableSystem, { api_keys: keys }: Credentials): Promise<boolean> {
  const identity = clientOf(system, 'identity', 'gateway');
  try {
    const { results } = await identity.authenticate({ tokens: [keys.live, keys.test] });
    return results.every(({ principal }) => principal);
  } finally {
    identity.close();
  }
}

/** Each start grants under the same id, so a second grant changes nothing. */
async function grantCredits(system: SeedableSystem, organizationId: string): Promise<void> {
  const credits = clientOf(system, 'credits', operatorService);
  try {
    await credits.grant({ ...openingGrant, tenant: { organizationId, environment: 'live' } });
  } finally {
    credits.close();
  }
}

const environments = ['live', 'test'];
const connectLimitMs = 20_000;

/**
 * Connects the demonstration company to the demonstration organization in both environments, with data up to today. A database that
 * an operator has connected in its place stays.
 */
async function connectDemonstration(system: SeedableSystem, organizationId: string, report: (line: string) => void): Promise<void> {
  const url = await bringUp(system, report);
  if (url === undefined) return;
  const agents = clientOf(system, 'agents', operatorService);
  try {
    const { dataSources } = await agents.listDataSources({ organizationId });
    for (const environment of environments) {
      const connected = dataSources.find((source) => source.environment === environment);
      if (connected && !isOurs(connected, url)) continue;
      // Its port and its password may have changed since the last start.
      await agents.connectDataSource({ organizationId, environment, url }, { timeoutMs: connectLimitMs });
    }
  } finally {
    agents.close();
  }
}

async function bringUp({ endpoints, demonstrationPassword }: SeedableSystem, report: (line: string) => void): Promise<string | undefined> {
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

/** The sslmode of a data source for each sslmode of a driver. */
const modes: Readonly<Record<string, string | undefined>> = {
  disable: 'disable',
  require: 'require',
  'no-verify': 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};

/** The URL of a data source for an administrator's URL: without the parameters that a data source does not have. */
export function sourceUrl(url: string): string {
  const source = new URL(url);
  const [host, mode] = [source.searchParams.get('host'), modes[source.searchParams.get('sslmode') ?? '']];
  source.search = new URLSearchParams({ ...(host !== null && { host }), ...(mode !== undefined && { sslmode: mode }) }).toString();
  return source.href;
}
