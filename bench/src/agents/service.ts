import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, createClient, withCall } from '@agent-service/contracts';
import { freePort } from '@agent-service/local/host/ports';
import { beginLife, waitUntilReady } from '@agent-service/local/processes/life';
import { nodeProcess } from '@agent-service/local/processes/spec';
import { Pool } from 'pg';
import { type BulkAgent, loadAgents } from '../../../services/agents/test/bulk-agents.ts';
import { bundleOf } from '../system.ts';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const secret = 'a-service-secret-for-the-benchmark-alone';
const tenant = { organizationId: 'org_01jz0000000000000000000000', environment: 'live' } as const;
const startLimitMs = 30_000;

interface Listing {
  readonly names: readonly string[];
  readonly total: number;
  readonly nextCursor: string;
}

export interface AgentsService {
  list(page: { limit: number; cursor?: string }, search?: string): Promise<Listing>;
  stop(): Promise<void>;
}

export interface ServiceOptions {
  /** Its process, its database and its log are called so. */
  readonly name: string;
  readonly clusterUrl: string;
  readonly redisUrl: string;
  readonly folder: string;
  readonly agents: readonly BulkAgent[];
}

/** An agents process as it runs in production, over a database of its own with these agents of one tenant. */
export async function startAgentsService(options: ServiceOptions): Promise<AgentsService> {
  const databaseUrl = await makeDatabase(options);
  const [grpcPort, opsPort] = [await freePort(), await freePort()];
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOST: '127.0.0.1',
    GRPC_PORT: String(grpcPort),
    OPS_PORT: String(opsPort),
    DATABASE_URL: databaseUrl,
    REDIS_URL: options.redisUrl,
    SERVICE_SECRET: secret,
    CURSOR_SECRET: secret,
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
    IDENTITY_ADDRESS: '127.0.0.1:1',
    CREDITS_ADDRESS: '127.0.0.1:1',
  };
  const entry = bundleOf('agents');
  const spec = nodeProcess({ name: `agents-${options.name}`, entry, workingFolder: repository, env, opsPort });
  const log = join(options.folder, `${options.name}.log`);
  const life = await beginLife(spec, log);
  const gateway = createClient('agents', { address: `127.0.0.1:${grpcPort}`, as: 'gateway', config: { SERVICE_SECRET: [secret] } });
  const stop = async () => {
    gateway.close();
    await life.stop();
  };
  try {
    await waitUntilReady(spec, life, log, startLimitMs);
    await load(databaseUrl, options.agents);
  } catch (cause) {
    await stop();
    throw cause;
  }
  return { stop, list: (page, search = '') => list(gateway, page, search) };
}

async function list(gateway: Client<'agents'>, page: { limit: number; cursor?: string }, search: string): Promise<Listing> {
  const principal = { ...tenant, userId: 'usr_1', credentialId: 'key', scopes: ['agents:read'], admin: false };
  const answer = await withCall({ requestId: 'bench', principal, expiresAt: performance.now() + 30_000 }, () =>
    gateway.listAgents({ page, search }),
  );
  return { names: answer.agents.map(({ name }) => name), total: Number(answer.page?.total), nextCursor: answer.page?.nextCursor ?? '' };
}

async function makeDatabase({ clusterUrl, name, folder }: ServiceOptions): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const cluster = new Pool({ connectionString: clusterUrl, max: 1 });
  await cluster.query(`create database ${name}`);
  await cluster.end();
  const url = new URL(clusterUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** The search's index is built at once and not row by row, which takes a tenth of the time and leaves the same. */
async function load(databaseUrl: string, agents: readonly BulkAgent[]): Promise<void> {
  const pool = new Pool({ connectionString: databaseUrl, max: 1, options: '-c search_path=agents -c timezone=UTC' });
  const { rows } = await pool.query<{ indexdef: string }>("select indexdef from pg_indexes where indexname = 'agents_grams_index'");
  await pool.query('drop index agents_grams_index');
  await loadAgents(pool, tenant, Date.UTC(2026, 0, 1), agents);
  await pool.query(rows[0]?.indexdef ?? '');
  await pool.query('vacuum (analyze)');
  await pool.query('checkpoint');
  await pool.end();
}
