import { join } from 'node:path';
import { operatorService } from '@agent-service/contracts';
import { connectDemonstration } from './demonstration/connect.ts';
import { writeJson } from './host/files.ts';
import { type Credentials, readCredentials } from './system/secrets.ts';
import { clientOf, type LocalSystem } from './system/system.ts';

const organizationName = 'Demonstration';
const administrator = 'admin@demonstration.example';
/** What it starts with in the live environment; the test environment of every organization starts with as much by itself. */
const openingGrant = { grantId: 'demonstration', amount: '100000' };

/**
 * Makes the demonstration organization with its business data and leaves its credentials in DATA_DIR, before the gateway starts: whoever sees it
 * ready can read them. The credentials of an earlier start are kept for as long as the database knows them.
 */
export async function seed(system: LocalSystem, report: (line: string) => void = () => undefined): Promise<void> {
  const file = join(system.dataDir, 'credentials.json');
  const known = readCredentials(file);
  const kept = known && (await stillValid(system, known)) ? known : await makeCredentials(system);
  await grantCredits(system, kept.organization_id);
  await connectDemonstration(system, kept.organization_id, report);
  writeJson(file, { ...kept, base_url: system.url });
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

/** Asks as a gateway does, because only identity can tell whether keys are still good. */
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
