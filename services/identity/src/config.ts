import { openIdConnectSettings, serverSettings, webhooksClientSettings } from '@agent-service/contracts';
import { ConfigurationError, processSettings, readConfig, setting } from '@agent-service/runtime';
import { cursorSettings, databaseSettings, databaseUrl, encryptionSettings, versionedKeys } from '@agent-service/store';
import { z } from 'zod';

export const identitySettings = z.object({
  ...processSettings,
  ...serverSettings,
  ...databaseSettings,
  ...encryptionSettings,
  ...webhooksClientSettings,
  DATABASE_OWNER_URL: databaseUrl()
    .optional()
    .describe(
      'For `identity` alone: the role that owns its schema and migrates it. The role of `DATABASE_URL` then can only read and add audit entries; `audit verify` says whether (`append_only_role`).',
    ),
  KEY_HASH_SECRET: setting
    .secrets()
    .describe(
      'The key of the hashes of API keys and client secrets, and the one that version 1 of the keys of the audit log is derived from.',
    ),
  ...cursorSettings,
  AUDIT_KEYS: versionedKeys
    .refine((keys) => Math.min(...keys.keys()) > 0, 'must have versions from 1 on')
    .optional()
    .describe(
      'Further keys that audit entries are signed with, from version 2 on, or with version 1 while `KEY_HASH_SECRET` is replaced: `2:<base64 of 32 bytes>,3:…`; the highest signs. None may be dropped: older entries are verified with theirs.',
    ),
  TOKEN_TTL_SECONDS: setting.integer(3_600, 300, 86_400).describe('Lifetime of access tokens.'),
  SESSION_IDLE_SECONDS: setting.integer(7_200, 60, 604_800).describe('A session of the portal ends so long after its last use.'),
  SESSION_MAX_SECONDS: setting
    .integer(86_400, 60, 2_592_000)
    .describe('A session of the portal ends so long after the sign-in, however much it is used.'),
  ...openIdConnectSettings,
  TOKEN_ISSUER: setting.text().default('agent-service').describe('The `iss` of access tokens.'),
  SIGNING_KEY_DAYS: setting.integer(90, 1, 3_650).describe('After so many days tokens are signed with a new key.'),
  SIGNING_KEY_AHEAD_SECONDS: setting.integer(120, 0, 3_600).describe('How long a new signing key is published before it signs.'),
});

export type IdentityConfig = z.output<typeof identitySettings>;

export function readIdentityConfig(env: NodeJS.ProcessEnv): IdentityConfig {
  const config = readConfig(identitySettings, env);
  // The first key of the audit log would change with the secret that it is derived from.
  if (config.KEY_HASH_SECRET.length > 1 && !config.AUDIT_KEYS?.has(1))
    throw new ConfigurationError(['AUDIT_KEYS: must have version 1 while KEY_HASH_SECRET is replaced']);
  if (config.OPENID_CONNECT_ISSUER !== undefined && config.OPENID_CONNECT_CLIENT_ID === undefined)
    throw new ConfigurationError(['OPENID_CONNECT_ISSUER: needs OPENID_CONNECT_CLIENT_ID as well']);
  return config;
}
