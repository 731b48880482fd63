import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@agent-service/local/host/ports';
import { beginLife, type Life, waitUntilReady } from '@agent-service/local/processes/life';
import { nodeProcess, type ProcessSpec } from '@agent-service/local/processes/spec';
import { prepareRedis } from '@agent-service/local/redis/server';
import { onEnd } from '../cleanup.ts';
import { bundleOf } from '../system.ts';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const readyLimitMs = 30_000;
export const secret = 'a-service-secret-for-the-benchmark-alone';

export interface WebhookProcesses {
  /** The address of the webhooks service. */
  readonly address: string;
  stop(): Promise<void>;
}

export interface WebhookProcessesOptions {
  databaseUrl: string;
  folder: string;
  /** The receivers' certificate. */
  certificate: string;
}

/** Redis, webhooks and a dispatcher as they run in production, one process each. */
export async function startWebhookProcesses({ databaseUrl, folder, certificate }: WebhookProcessesOptions): Promise<WebhookProcesses> {
  const lives: Life[] = [];
  const stop = onEnd(async () => {
    for (const life of lives.toReversed()) await life.stop();
  });
  const run = async (spec: ProcessSpec) => {
    const log = join(folder, `${spec.name}.log`);
    const life = await beginLife(spec, log);
    lives.push(life);
    await waitUntilReady(spec, life, log, readyLimitMs);
  };
  const redis = await prepareRedis({ folder: join(folder, 'redis'), port: await freePort() });
  await run(redis);
  const [grpcPort, caFile] = [await freePort(), join(folder, 'receivers.pem')];
  writeFileSync(caFile, certificate);
  const shared = { REDIS_URL: redis.url, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' };
  const address = `127.0.0.1:${grpcPort}`;
  await run(
    await serviceSpec('webhooks', {
      ...shared,
      GRPC_PORT: String(grpcPort),
      DATABASE_URL: databaseUrl,
      CURSOR_SECRET: secret,
      ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
      IDENTITY_ADDRESS: '127.0.0.1:1',
    }),
  );
  await run(await serviceSpec('webhook-dispatcher', { ...shared, WEBHOOKS_ADDRESS: address, WEBHOOK_CA_FILE: caFile }));
  return { address, stop };
}

async function serviceSpec(name: string, settings: Record<string, string>): Promise<ProcessSpec> {
  const opsPort = await freePort();
  const env = { ...inherited(), HOST: '127.0.0.1', OPS_PORT: String(opsPort), SERVICE_SECRET: secret, ...settings };
  return nodeProcess({ name, entry: bundleOf(name), workingFolder: repository, env, opsPort });
}

/** NODE_OPTIONS=--cpu-prof shows where the time goes. */
const inherited = (): Record<string, string> =>
  Object.fromEntries(['PATH', 'NODE_OPTIONS'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
