import { join } from 'node:path';
import { seed } from '@agent-service/local/seed';
import { type Credentials, readCredentials } from '@agent-service/local/system/secrets';
import { testFolder } from '@agent-service/testkit';
import { type Organization, shareWorld, type World } from './world.ts';

/** A world with the seeded organization, and the OpenAPI document's operations by path and method, which the suites try with their examples. */
export interface DemonstrationWorld<Operation> {
  readonly world: World;
  readonly demonstration: Organization;
  readonly operations: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  /** Credentials of this system by field: examples cannot hold them. */
  readonly own: Readonly<Record<string, string>>;
}

export async function openDemonstrationWorld<Operation>(): Promise<DemonstrationWorld<Operation>> {
  const world = await shareWorld();
  const dataDir = await testFolder();
  await seed({ ...world.system, dataDir });
  const { organization_id: id, api_keys: keys, oauth } = readCredentials(join(dataDir, 'credentials.json')) as Credentials;
  const me = await world.call(keys.live, { method: 'GET', path: '/v1/me' });
  const document = await world.call(undefined, { method: 'GET', path: '/openapi.json' });
  return {
    world,
    demonstration: { id, keys, adminId: me.json<{ data: { user: { id: string } } }>().data.user.id },
    operations: document.json<{ paths: DemonstrationWorld<Operation>['operations'] }>().paths,
    own: { api_key: keys.live, ...oauth },
  };
}
