import { setting } from '@agent-service/runtime';
import { z } from 'zod';

/** Settings of every service with a database of its own. */
export const databaseSettings = {
  DATABASE_URL: setting.url('postgres:', 'postgresql:'),
  DATABASE_POOL_MAX: setting.integer(10, 1, 500),
};

const schema = z.object(databaseSettings);
export type DatabaseConfig = z.output<typeof schema>;
