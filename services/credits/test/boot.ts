import { type Client, createClient, operatorService, type Principal, withCall } from '@agent-service/contracts';
import { createProcess } from '@agent-service/runtime';
import { migrate } from '@agent-service/store';
import { type DatabaseContents, testDatabase } from '@agent-service/testkit';
import { type CreditsConfig, readCreditsConfig } from '../src/config.ts';
import { start } from '../src/start.ts';
import { migrations } from '../src/store/migrations/index.ts';

const secret = 'a-service-secret-that-is-long-enough';

/** The service's schema as its migrations make it. */
export const migrated: DatabaseContents = { name: 'credits', make: (url) => migrate({ url, schema: 'credits', migrations }) };

/** The settings of a credits process on this database. */
export const settingsFor = (databaseUrl: string, more: Record<string, string> = {}): Record<string, string> => ({
  HOST: '127.0.0.1',
  OPS_PORT: '0',
  GRPC_PORT: '0',
  LOG_LEVEL: 'silent',
  DATABASE_URL: databaseUrl,
  SERVICE_SECRET: secret,
  CURSOR_SECRET: 'a cursor secret that is long enough for tests',
  IDENTITY_ADDRESS: '127.0.0.1:1',
  WEBHOOKS_ADDRESS: '127.0.0.1:1',
  ...more,
});

/** Clients of a credits process, one for each service that calls it. */
export interface Clients {
  agents: Client<'credits'>;
  gateway: Client<'credits'>;
  operator: Client<'credits'>;
  close(): void;
}

export function connectTo(address: string): Clients {
  const client = (as: string) => createClient('credits', { address, as, config: { SERVICE_SECRET: [secret] } });
  const [agents, gateway, operator] = [client('agents'), client('gateway'), client(operatorService)];
  const close = () => {
    for (const each of [agents, gateway, operator]) each.close();
  };
  return { agents, gateway, operator, close };
}

export interface BootedService extends Clients {
  config: CreditsConfig;
  url: string;
  /** Host and port of the gRPC server. */
  address: string;
  stop(): Promise<void>;
}

export interface BootOptions {
  /** A database to share; by default the process gets one of its own. */
  databaseUrl?: string;
  now?: () => number;
  settings?: Record<string, string>;
}

/** Starts the service in this process, as main.ts does. */
export async function boot({ databaseUrl, now, settings }: BootOptions = {}): Promise<BootedService> {
  const own = databaseUrl === undefined ? await testDatabase(migrated) : undefined;
  const url = databaseUrl ?? (own?.url as string);
  const config = readCreditsConfig(settingsFor(url, settings));
  const running = await createProcess('credits', config, (process, parsed: CreditsConfig) => start(process, parsed, now));
  const address = `127.0.0.1:${running.started}`;
  const clients = connectTo(address);
  return {
    ...clients,
    config,
    url,
    address,
    async stop() {
      clients.close();
      await running.stop();
      await own?.drop();
    },
  };
}

export const tenantOf = (organizationId: string, environment: 'live' | 'test' = 'live') => ({ organizationId, environment });

/** Calls as the gateway does for a caller with these rights. */
export function asCaller<T>(caller: Partial<Principal>, work: () => T, idempotency?: { scope: string; fingerprint: string }): T {
  const principal: Principal = {
    organizationId: 'org_a',
    environment: 'live',
    userId: 'usr_admin',
    credentialId: 'key_1',
    scopes: ['credits:read', 'credits:write'],
    admin: true,
    ...caller,
  };
  return withCall({ requestId: 'test', principal, expiresAt: performance.now() + 20_000, idempotency }, work);
}
