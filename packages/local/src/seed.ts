import { join } from 'node:path';
import { operatorService } from '@agent-service/contracts';
import { connectDemonstration } from './demonstration/connect.ts';
import { writeJson } from './host/files.ts';
import { type Credentials, readCredentials } from './system/secrets.ts';
import { clientOf, type LocalSystem } from './system/system.ts';

const organizationName = 'Demonstration';
const administrator = 'admin@demonstration.example';
/** The opening credits of the live environment; every organization's test environment has as many by default. */
const openingGrant = { grantId: 'demonstration', amount: '100000' };

/**
 * Makes the demonstration organization with its business data and leaves its credentials in DATA_DIR, before the gateway starts, so that
 * they exist once it is ready. The credentials of an earlier start are credentials while the database knows them.
 */
export async function seed(system: LocalSystem, report: (line: string) => void = () => undefined): Promise<void> {
  const file = join(system.dataDir, 'credentials.json');
  const known = readCredentials(file);
  const credentials = known && (await stillValid(system, known)) ? known : await makeCredentials(system);
  await grantCredits(system, credentials.organization_id);
  await connectDemonstration(system, credentials.organization_id, report);
  writeJson(file, { ...credentials, base_url: system.url });
}

async function makeCredentials(system: LocalSystem): Promise<Credentials> {
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
async function stillValid(system: LocalSystem, { api_keys: keys }: Credentials): Promise<boolean> {
  const identity = clientOf(system, 'identity', 'gateway');
  try {
    const { results } = await identity.authenticate({ tokens: [keys.live, keys.test] });
    return results.every(({ principal }) => principal);
  } finally {
    identity.close();
  }
}

/** Under one id: a start after the first, or after one that was killed halfway, grants nothing twice. */
async function grantCredits(system: LocalSystem, organizationId: string): Promise<void> {
  const credits = clientOf(system, 'credits', operatorService);
  try {
    await credits.grant({ ...openingGrant, tenant: { organizationId, environment: 'live' } });
  } finally {
    credits.close();
  }
}
