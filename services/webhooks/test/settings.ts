export const serviceSecret = 'a-service-secret-that-is-long-enough';

/** Settings of every process of a test. */
const shared = { HOST: '127.0.0.1', OPS_PORT: '0', LOG_LEVEL: process.env['TEST_LOG_LEVEL'] ?? 'silent', SERVICE_SECRET: serviceSecret };

export interface Targets {
  databaseUrl: string;
  redisUrl: string;
}

export const webhooksSettings = (
  { databaseUrl, redisUrl }: Targets,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> => ({
  ...shared,
  GRPC_PORT: '0',
  DATABASE_URL: databaseUrl,
  REDIS_URL: redisUrl,
  CURSOR_SECRET: 'a cursor secret that is long enough for tests',
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
  IDENTITY_ADDRESS: '127.0.0.1:1',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  ...more,
});

export const dispatcherSettings = (redisUrl: string, webhooksAddress: string, caFile: string): Record<string, string> => ({
  ...shared,
  REDIS_URL: redisUrl,
  WEBHOOKS_ADDRESS: webhooksAddress,
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_CA_FILE: caFile,
});

export const identitySettings = (databaseUrl: string): Record<string, string> => ({
  ...shared,
  DATABASE_URL: databaseUrl,
  KEY_HASH_SECRET: 'a key hash secret that is long enough for tests',
  CURSOR_SECRET: 'a cursor secret that is long enough for tests',
  ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 7).toString('base64')}`,
});
