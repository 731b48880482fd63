import { readConfig, runTask } from '@agent-service/runtime';
import { describeMigrations } from '@agent-service/store/run-migrations';
import { databaseUrl } from '@agent-service/store/servers/database-url';
import { z } from 'zod';
import { prepareSchema, schema } from './prepare-schema.ts';

/** With an owner, the role of DATABASE_URL is the one that the service runs with, and gets its privileges here. */
const settings = z.object({ DATABASE_URL: databaseUrl(), DATABASE_OWNER_URL: databaseUrl().optional() });

await runTask('The migration of identity', async (env) => {
  process.stdout.write(`${describeMigrations(schema, await prepareSchema(readConfig(settings, env)))}\n`);
});
