import { join } from 'node:path';
import { clientSettings } from '@agent-service/contracts';
import { readConfig, setting } from '@agent-service/runtime/config';
import { runTask } from '@agent-service/runtime/run-process';
import { databaseUrl } from '@agent-service/store/servers/database-url';
import { primaryUrl } from '@agent-service/store/servers/primary';
import { z } from 'zod';
import { untilSucceeded } from '../host/waiting.ts';
import { seed } from '../seed.ts';
import { banner } from '../system/banner.ts';

const settings = z.object({
  ...clientSettings,
  /** `false` makes no demonstration organization. */
  DEMONSTRATION: setting.flag(true),
  SERVICE_SECRET: clientSettings.SERVICE_SECRET.unwrap(),
  DATA_DIR: setting.text().default('/data'),
  /** The address at which callers reach the gateway; on this machine at PORT unless set. */
  PUBLIC_URL: setting.url('http:', 'https:').optional(),
  PORT: setting.port(8080),
  /** The address at which browsers reach the portal; on this machine at PORTAL_PORT unless set. */
  PORTAL_URL: setting.url('http:', 'https:').optional(),
  PORTAL_PORT: setting.port(8081),
  /** An administrator of the database, who makes the one with the business data. */
  DATABASE_URL: databaseUrl(),
  DEMONSTRATION_PASSWORD: setting.secret(),
  IDENTITY_ADDRESS: setting.text(),
  CREDITS_ADDRESS: setting.text(),
  AGENTS_ADDRESS: setting.text(),
  /** The address at which this program reaches the gateway. With it, the program waits until the gateway is ready and prints how to try it. */
  GATEWAY_URL: setting.url('http:', 'https:').optional(),
});

const readyLimitMs = 120_000;
const retryEveryMs = 500;

/**
 * Makes the demonstration organization of a deployment, with its business data and credentials, as `npm start` does. A repeated run keeps them.
 */
await runTask('demonstration', async (env) => {
  const config = readConfig(settings, env);
  if (!config.DEMONSTRATION) return;
  const system = {
    url: config.PUBLIC_URL ?? `http://127.0.0.1:${config.PORT}`,
    portalUrl: config.PORTAL_URL ?? `http://127.0.0.1:${config.PORTAL_PORT}`,
    dataDir: config.DATA_DIR,
    demonstrationPassword: config.DEMONSTRATION_PASSWORD,
    secrets: { SERVICE_SECRET: config.SERVICE_SECRET.join(',') },
    endpoints: {
      identity: config.IDENTITY_ADDRESS,
      credits: config.CREDITS_ADDRESS,
      agents: config.AGENTS_ADDRESS,
      postgres: await primaryUrl(config.DATABASE_URL),
    },
    grpc: config,
  };
  await seed(system, (line) => process.stdout.write(`${line}\n`));
  if (config.GATEWAY_URL === undefined) return;
  await waitForGateway(config.GATEWAY_URL);
  process.stdout.write(
    `${banner({ ...system, stop: 'docker compose down', rows: [['Keys', join(config.DATA_DIR, 'credentials.json')]] })}\n`,
  );
});

async function waitForGateway(url: string): Promise<void> {
  const ask = async () => {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
  };
  await untilSucceeded(ask, `The gateway at ${url} is not ready`, { limitMs: readyLimitMs, everyMs: retryEveryMs });
}
