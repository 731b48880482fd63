import { resolve } from 'node:path';
import { redisSettings } from '@agent-service/queues/redis/settings';
import { readConfig, setting } from '@agent-service/runtime/config';
import { z } from 'zod';

const schema = z.object({
  DATA_DIR: setting.text().default('.data'),
  PORT: setting.port(8080),
  PORTAL_PORT: setting.port(8081),
  /** The address on which the public API listens. */
  LISTEN_HOST: setting.text().default('127.0.0.1'),
  REPLICAS: setting.text().optional(),
  DATABASE_URL: setting.url('postgres:', 'postgresql:').optional(),
  ...redisSettings,
  REDIS_URL: redisSettings.REDIS_URL.optional(),
});

export type LocalSettings = z.output<typeof schema>;

/** The settings of the supervisor; DATA_DIR counts from the repository's root, wherever the command was called. */
export function readLocalSettings(env: Readonly<NodeJS.ProcessEnv>, root: string): LocalSettings {
  const settings = readConfig(schema, env);
  return { ...settings, DATA_DIR: resolve(root, settings.DATA_DIR) };
}
