import { serviceProcess as process, type ServiceProcess } from '@agent-service/testkit';

export type { ServiceProcess };

export const secret = 'a-service-secret-that-is-long-enough';

/** A service on this database, with the secrets that the suites share. */
export const serviceProcess = (
  name: 'agents' | 'credits' | 'answer-worker',
  databaseUrl: string,
  settings: Record<string, string>,
): Promise<ServiceProcess> =>
  process(name, {
    LOG_LEVEL: 'error',
    DATABASE_URL: databaseUrl,
    SERVICE_SECRET: secret,
    CURSOR_SECRET: 'a cursor secret that is long enough for tests',
    IDENTITY_ADDRESS: '127.0.0.1:1',
    ENCRYPTION_KEYS: `1:${Buffer.alloc(32, 1).toString('base64')}`,
    ...settings,
  });
