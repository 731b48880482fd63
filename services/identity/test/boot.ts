import { type Client, type ClientConfig, createClient, operatorService, type Principal, withCall } from '@agent-service/contracts';
import { createProcess } from '@agent-service/runtime';
import { migrate } from '@agent-service/store';
import { type DatabaseContents, testDatabase } from '@agent-service/testkit';
import { readIdentityConfig } from '../src/config.ts';
import { schema } from '../src/prepare-schema.ts';
import { start } from '../src/start.ts';
import { migrations } from '../src/store/migrations/index.ts';

const secret = 'a-service-secret-that-is-long-enough';
export const keyHashSecret = 'a key hash secret that is long enough for tests';
/** The service's schema as its migrations make it. */
const migrated: DatabaseContents = { name: schema, make: (url) => migrate({ url, schema, migrations }) };

export interface BootedService {
  /** The URL of the database. */
  url: string;
  /** The gRPC address of the service. */
  address: string;
  config: ClientConfig;
  /** Calls as the gateway does, for the caller of `as`. */
  gateway: Client<'identity'>;
  operator: Client<'identity'>;
  as<T>(principal: Principal, work: () => T, idempotency?: { scope: string; fingerprint: string }): T;
  /** The pauses in ms, until gateways had forgotten what they knew, that the service made during this work and did not really wait for. */
  pausesDuring(work: () => Promise<unknown>): Promise<number[]>;
  stop(): Promise<void>;
}

let pauses: number[] = [];

/** The service as its main file starts it, on a database of its own. */
export async function boot(
  settings: Readonly<Record<string, string>> = {},
  pauseForGateways: (ms: number) => Promise<unknown> = async (ms) => void pauses.push(ms),
): Promise<BootedService> {
  const database = await testDatabase(migrated);
  const config = readIdentityConfig({
    HOST: '127.0.0.1',
    OPS_PORT: '0',
    GRPC_PORT: '0',
    LOG_LEVEL: 'silent',
    DATABASE_URL: database.url,
    SERVICE_SECRET: secret,
    KEY_HASH_SECRET: keyHashSecret,
    SIGNING_KEY_AHEAD_SECONDS: '0',
    CURSOR_SECRET: 'a cursor secret that is long enough for tests',
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
    ...settings,
  });
  const running = await createProcess('identity', config, (context, read) => start(context, read, pauseForGateways));
  const client = (as: string) => createClient('identity', { address: `127.0.0.1:${running.started}`, as, config });
  const gateway = client('gateway');
  const operator = client(operatorService);
  return {
    url: database.url,
    address: `127.0.0.1:${running.started}`,
    config,
    gateway,
    operator,
    as: (principal, work, idempotency) =>
      withCall({ requestId: 'test', principal, expiresAt: performance.now() + 20_000, idempotency }, work),
    async pausesDuring(work) {
      pauses = [];
      await work();
      return pauses;
    },
    async stop() {
      gateway.close();
      operator.close();
      await running.stop();
      await database.drop();
    },
  };
}
