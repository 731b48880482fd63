import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { allScopes, type Client, type Environment, operatorService, ServiceError, withCall } from '@agent-service/contracts';
import { OperatorFault } from '@agent-service/runtime/failures';
import { bringUpDemonstration } from './demonstration/database.ts';
import { writeJson } from './host/files.ts';
import { type Credentials, readCredentials } from './system/secrets.ts';
import { type CallableSystem, clientOf, type LocalSystem } from './system/system.ts';

const organizationName = 'Demonstration';
const administrator = 'admin@demonstration.example';
/** The opening credits of the live environment; every organization's test environment has as many by default. */
const openingGrant = { grantId: 'demonstration', amount: '100000' };

/** A system whose gateway is about to start. `endpoints.postgres` is the URL of an administrator of its database. */
export type SeedableSystem = CallableSystem & Pick<LocalSystem, 'url' | 'dataDir' | 'demonstrationPassword' | 'portalUrl'>;

/** A system that has just started may have a busy machine, and an organization whose answer comes too late would be made again by the next start. */
const callLimitMs = 30_000;
const patiently = { timeoutMs: callLimitMs };
/** Half of what the organization has, so that other users can get credits as well. */
const administratorsMonthlyLimit = 50_000;

/**
 * Makes the demonstration organization with its business data and leaves its credentials in DATA_DIR, before the gateway starts, so that
 * they exist once it is ready. The credentials of an earlier start stay while identity accepts them; a revoked key is replaced.
 */
export async function seed(system: SeedableSystem, report: (line: string) => void = () => undefined): Promise<void> {
  const file = join(system.dataDir, 'credentials.json');
  const known = readCredentials(file);
  const credentials = (known && (await renewCredentials(system, known, report))) ?? (await makeCredentials(system));
  await grantCredits(system, credentials.organization_id);
  const hasData = await connectDemonstration(system, credentials.organization_id, report);
  const { administratorId, login } = await ensureLogin(system, credentials, report);
  writeJson(file, {
    ...credentials,
    administrator_id: administratorId,
    base_url: system.url,
    portal_url: system.portalUrl,
    portal_login: login,
    has_demonstration_data: hasData,
  });
}

async function makeCredentials(system: SeedableSystem): Promise<Credentials> {
  const identity = clientOf(system, 'identity', operatorService);
  try {
    const organization = await identity.createOrganization({ name: organizationName, email: administrator }, patiently);
    const application = await identity.createOauthClient({ organizationId: organization.organizationId, environment: 'live' }, patiently);
    await grantCredits(system, organization.organizationId);
    await allocateCredits(system, organization);
    return {
      base_url: system.url,
      organization_id: organization.organizationId,
      administrator_id: organization.userId,
      api_keys: { live: organization.liveApiKey, test: organization.testApiKey },
      oauth: { client_id: application.clientId, client_secret: application.clientSecret },
    };
  } finally {
    identity.close();
  }
}

const environments = ['live', 'test'] as const;

/** Does the work as the gateway does it for an administrator of the organization. */
function asAdministrator<T>(organizationId: string, environment: Environment, userId: string, work: () => T): T {
  const principal = { organizationId, environment, userId, credentialId: '', scopes: allScopes, admin: true, role: 'admin' } as const;
  return withCall({ requestId: randomUUID(), principal, expiresAt: performance.now() + callLimitMs }, work);
}

/** Without an allocation the administrator could spend only the default of the organization, which is used up within an hour. */
async function allocateCredits(
  system: SeedableSystem,
  { organizationId, userId }: { organizationId: string; userId: string },
): Promise<void> {
  const credits = clientOf(system, 'credits', 'gateway');
  try {
    const allocation = { userId, monthlyLimit: administratorsMonthlyLimit, rolloverEnabled: false };
    for (const environment of environments)
      await asAdministrator(organizationId, environment, userId, () => credits.setAllocation(allocation, patiently));
  } finally {
    credits.close();
  }
}

/** The credentials with new ones in place of those that identity no longer accepts; undefined if their organization does not exist. */
async function renewCredentials(
  system: SeedableSystem,
  credentials: Credentials,
  report: (line: string) => void,
): Promise<Credentials | undefined> {
  const { organization_id: organizationId, api_keys: keys, oauth, administrator_id: administratorId } = credentials;
  // Authenticates like a gateway, because only identity knows which keys are valid.
  const gateway = clientOf(system, 'identity', 'gateway');
  const operator = clientOf(system, 'identity', operatorService);
  try {
    const { results } = await gateway.authenticate({ tokens: environments.map((environment) => keys[environment]) }, patiently);
    const revoked = environments.filter((_, index) => !results[index]?.principal);
    const isApplicationValid = await acceptsApplication(gateway, oauth);
    if (revoked.length === 0 && isApplicationValid) return credentials;
    if (!(await organizationExists(operator, organizationId))) {
      report(`The organization ${organizationId} of credentials.json does not exist any more: a new one is made.`);
      return undefined;
    }
    const administrators = await listAdministrators(gateway, organizationId);
    // There always is one: the last active administrator cannot be deactivated.
    const userId = (ownAdministrator(administrators, administratorId) ?? administrators.at(-1))?.id ?? '';
    const renewed = { ...keys };
    for (const environment of revoked) {
      renewed[environment] = (await operator.createKey({ organizationId, userId, environment, scopes: [], admin: true }, patiently)).apiKey;
      report(`The ${environment} key of credentials.json is not valid any more: a new key of the same organization replaces it.`);
    }
    if (isApplicationValid) return { ...credentials, api_keys: renewed };
    const application = await operator.createOauthClient({ organizationId, environment: 'live' }, patiently);
    report('The OAuth application of credentials.json is not valid any more: a new one of the same organization replaces it.');
    return { ...credentials, api_keys: renewed, oauth: { client_id: application.clientId, client_secret: application.clientSecret } };
  } finally {
    gateway.close();
    operator.close();
  }
}

interface Administrator {
  readonly id: string;
  readonly email: string;
}

/** The active administrators, newest first. */
async function listAdministrators(gateway: Client<'identity'>, organizationId: string): Promise<Administrator[]> {
  const administrators: Administrator[] = [];
  let cursor = '';
  do {
    const { users, page } = await asAdministrator(organizationId, 'live', '', () =>
      gateway.listUsers({ role: 'admin', status: 'active', page: { limit: 100, cursor } }, patiently),
    );
    administrators.push(...users);
    cursor = page?.nextCursor ?? '';
  } while (cursor !== '');
  return administrators;
}

/** The administrator that a start made. Where its id is not known, only the address that it was made with tells it from others. */
const ownAdministrator = (administrators: readonly Administrator[], ownId: string | undefined) =>
  administrators.find(({ id, email }) => (ownId === undefined ? email === administrator : id === ownId));

interface OwnLogin {
  readonly administratorId: string | undefined;
  readonly login: Credentials['portal_login'];
}

/** Ensures that its own administrator can sign in to the portal with the password of credentials.json, which is made once. */
async function ensureLogin(
  system: SeedableSystem,
  { organization_id: organizationId, administrator_id: ownId, portal_login: known }: Credentials,
  report: (line: string) => void,
): Promise<OwnLogin> {
  const gateway = clientOf(system, 'identity', 'gateway');
  const operator = clientOf(system, 'identity', operatorService);
  try {
    const user = ownAdministrator(await listAdministrators(gateway, organizationId), ownId);
    if (!user?.email) {
      report(`The administrator of the demonstration (${administrator}) is gone, so there is no login to the portal.`);
      return { administratorId: ownId, login: undefined };
    }
    const login = { email: user.email, password: known?.password ?? randomBytes(15).toString('base64url') };
    const { changed } = await operator.setUserPassword(
      { organizationId, userId: user.id, password: login.password, unlessSame: true },
      patiently,
    );
    if (changed && known) report("The administrator's password was changed: the one of credentials.json is valid again.");
    return { administratorId: user.id, login };
  } finally {
    gateway.close();
    operator.close();
  }
}

const acceptsApplication = (gateway: Client<'identity'>, oauth: Credentials['oauth']): Promise<boolean> =>
  gateway.issueClientToken({ clientId: oauth.client_id, clientSecret: oauth.client_secret }, patiently).then(
    () => true,
    (cause: unknown) => {
      if (ServiceError.from(cause).code === 'invalid_client') return false;
      throw cause;
    },
  );

const organizationExists = (operator: Client<'identity'>, organizationId: string): Promise<boolean> =>
  operator.getOrganization({ organizationId }, patiently).then(
    () => true,
    (cause: unknown) => {
      if (ServiceError.from(cause).code === 'not_found') return false;
      throw cause;
    },
  );

/** Each start grants under the same id, so a second grant changes nothing. */
async function grantCredits(system: SeedableSystem, organizationId: string): Promise<void> {
  const credits = clientOf(system, 'credits', operatorService);
  try {
    await credits.grant({ ...openingGrant, tenant: { organizationId, environment: 'live' } }, patiently);
  } finally {
    credits.close();
  }
}

/**
 * Connects the demonstration company to the demonstration organization in both environments, with data up to today. A database that
 * an operator has connected in its place stays. Resolves to false where the administrator may not make that company's database.
 */
async function connectDemonstration(system: SeedableSystem, organizationId: string, report: (line: string) => void): Promise<boolean> {
  const url = await bringUp(system, report);
  if (url === undefined) return false;
  const agents = clientOf(system, 'agents', operatorService);
  try {
    const { dataSources } = await agents.listDataSources({ organizationId }, patiently);
    for (const environment of environments) {
      const connected = dataSources.find((source) => source.environment === environment);
      if (connected && !isOurs(connected, url)) continue;
      // Its port and its password may have changed since the last start.
      await agents.connectDataSource({ organizationId, environment, url }, patiently);
    }
    return true;
  } finally {
    agents.close();
  }
}

async function bringUp({ endpoints, demonstrationPassword }: SeedableSystem, report: (line: string) => void): Promise<string | undefined> {
  try {
    const options = { adminUrl: endpoints['postgres'] ?? '', readerPassword: demonstrationPassword, report };
    return sourceUrl(await bringUpDemonstration(options));
  } catch (cause) {
    if (!(cause instanceof OperatorFault)) throw cause;
    report(cause.message);
    return undefined;
  }
}

function isOurs({ database, user }: { database: string; user: string }, url: string): boolean {
  const { pathname, username } = new URL(url);
  return database === decodeURIComponent(pathname.slice(1)) && user === decodeURIComponent(username);
}

/** The sslmode of a data source for each sslmode of a driver, which connects in clear without one. */
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
  const [host, mode] = [source.searchParams.get('host'), modes[source.searchParams.get('sslmode') ?? 'disable']];
  source.search = new URLSearchParams({ ...(host !== null && { host }), ...(mode !== undefined && { sslmode: mode }) }).toString();
  return source.href;
}
