import { type Client, createClient, operatorService, type Principal, withCall } from '@agent-service/contracts';
import { createProcess } from '@agent-service/runtime';
import { testDatabase, testRedis } from '@agent-service/testkit';
import { Pool } from 'pg';
import { type AgentsConfig, readAgentsConfig } from '../src/config.ts';
import { start } from '../src/start.ts';
import { migrated } from './compose.ts';

const secret = 'a-service-secret-that-is-long-enough';
export const encryptionKeys = `1:${Buffer.alloc(32, 1).toString('base64')}`;

export interface BootedService {
  /** For further clients, as other services. */
  readonly address: string;
  /** As the gateway calls. */
  readonly gateway: Client<'agents'>;
  /** As operators and workers call. */
  readonly operator: Client<'agents'>;
  readonly worker: Client<'agents'>;
  /** The service's schema, past the service. */
  readonly database: Pool;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

export interface BootOptions {
  now?: () => number;
  settings?: Record<string, string>;
}

/** The service as its main file starts it, on a database of its own; the services that it calls are away. */
export async function boot({ now, settings }: BootOptions = {}): Promise<BootedService> {
  const [{ url, drop }, redis] = await Promise.all([testDatabase(migrated), testRedis()]);
  const config = readAgentsConfig({
    HOST: '127.0.0.1',
    OPS_PORT: '0',
    GRPC_PORT: '0',
    LOG_LEVEL: 'silent',
    DATABASE_URL: url,
    REDIS_URL: redis.url,
    SERVICE_SECRET: secret,
    CURSOR_SECRET: 'a cursor secret that is long enough for tests',
    ENCRYPTION_KEYS: encryptionKeys,
    IDENTITY_ADDRESS: '127.0.0.1:1',
    CREDITS_ADDRESS: '127.0.0.1:1',
    ...settings,
  });
  const running = await createProcess('agents', config, (process, settings: AgentsConfig) => start(process, settings, now));
  const address = `127.0.0.1:${running.started}`;
  const clientAs = (as: string) => createClient('agents', { address, as, config: { SERVICE_SECRET: [secret] } });
  const [gateway, operator, worker] = [clientAs('gateway'), clientAs(operatorService), clientAs('answer-worker')];
  const database = new Pool({ connectionString: url, max: 2, options: '-c search_path=agents -c timezone=UTC' });
  // A connection that is being closed may still be ended by the drop of its database.
  database.on('error', () => undefined);
  return {
    address,
    gateway,
    operator,
    worker,
    database,
    databaseUrl: url,
    async stop() {
      for (const client of [gateway, operator, worker]) client.close();
      await database.end();
      await running.stop();
      await drop();
    },
  };
}

/** Does the work as the gateway does it for a caller with these rights. */
export function asCaller<T>(caller: Partial<Principal>, work: () => T, idempotency?: { scope: string; fingerprint: string }): T {
  const principal: Principal = {
    organizationId: 'org_a',
    environment: 'live',
    userId: 'usr_1',
    credentialId: 'key_1',
    scopes: ['agents:read', 'agents:write', 'agents:chat'],
    admin: false,
    ...caller,
  };
  return withCall({ requestId: 'test', principal, expiresAt: performance.now() + 20_000, idempotency }, work);
}

/** A body that creates an agent. */
export const body = (more: object = {}) => ({
  name: 'Sales',
  systemPrompt: 'Answer from the orders.',
  dataScope: { tables: ['orders'], readOnly: true },
  ...more,
});

/** The agent's id. */
export async function createAgent(gateway: Client<'agents'>, more: object = {}, caller: Partial<Principal> = {}): Promise<string> {
  const { agent } = await asCaller(caller, () => gateway.createAgent(body(more)));
  if (!agent) throw new Error('no agent came back');
  return agent.id;
}
