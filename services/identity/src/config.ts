import { serverSettings, webhooksClientSettings } from '@agent-service/contracts';
import { processSettings, readConfig, setting } from '@agent-service/runtime';
import { databaseSettings, encryptionSettings, versionedKeys } from '@agent-service/store';
import { z } from 'zod';

const schema = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  ...encryptionSettings,
  ...webhooksClientSettings,
  /** Owns the schema and migrates it, so that the role of DATABASE_URL can only add to the audit log. */
  DATABASE_OWNER_URL: setting.url('postgres:', 'postgresql:').optional(),
  KEY_HASH_SECRET: setting.secret(),
  CURSOR_SECRET: setting.secret(),
  /** Version 1 is derived from KEY_HASH_SECRET. */
  AUDIT_KEYS: versionedKeys.refine((keys) => Math.min(...keys.keys()) > 1, 'must have versions from 2 on').optional(),
  TOKEN_TTL_SECONDS: setting.integer(3_600, 300, 86_400),
  TOKEN_ISSUER: setting.text().default('agent-service'),
  SIGNING_KEY_DAYS: setting.integer(90, 1, 3_650),
  SIGNING_KEY_AHEAD_SECONDS: setting.integer(120, 0, 3_600),
});

export type IdentityConfig = z.output<typeof schema>;

export const readIdentityConfig = (env: NodeJS.ProcessEnv): IdentityConfig => readConfig(schema, env);
