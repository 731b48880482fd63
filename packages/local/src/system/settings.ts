import { resolve } from 'node:path';
import { redisSettings } from '@agent-service/queues/redis/settings';
import { readConfig, setting } from '@agent-service/runtime/config';
import { databaseUrl } from '@agent-service/store/servers/database-url';
import { z } from 'zod';

export const localSettings = z.object({
  DATA_DIR: setting.text().default('.data').describe('The folder with the data of a local system; `npm run reset` removes it.'),
  PORT: setting.port(8080).describe('The port of the public API.'),
  PORTAL_PORT: setting.port(8081).describe('The port of the web portal.'),
  LISTEN_HOST: setting.text().default('127.0.0.1').describe('The address on which the public API listens.'),
  REPLICAS: setting
    .text()
    .optional()
    .describe(
      'How many processes of a service run, as `gateway=2 identity=2`; one of each where it is not named. Further gateways take free ports.',
    ),
  DATABASE_URL: databaseUrl()
    .optional()
    .describe(
      'A server whose role may create roles and schemas, or a role that may create schemas. Without it an embedded PostgreSQL runs.',
    ),
  ...redisSettings,
  REDIS_URL: redisSettings.REDIS_URL.optional().describe(
    'Limits and queues: only what can be rebuilt. One server, or several of a cluster or sentinels: `redis://one:6379,two:6379`. Without it a Redis of its own runs.',
  ),
});

export type LocalSettings = z.output<typeof localSettings>;

/** The settings of the supervisor; DATA_DIR counts from the repository's root, wherever the command was called. */
export function readLocalSettings(env: Readonly<NodeJS.ProcessEnv>, root: string): LocalSettings {
  const settings = readConfig(localSettings, env);
  return { ...settings, DATA_DIR: resolve(root, settings.DATA_DIR) };
}
