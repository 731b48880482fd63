import { readConfig, runTask } from '@agent-service/runtime';
import { describeMigrations } from '@agent-service/store/run-migrations';
import { databaseUrl } from '@agent-service/store/servers/database-url';
import { z } from 'zod';
import { prepareSchema, schema } from './prepare-schema.ts';

/** With DATABASE_OWNER_URL the owner migrates, and the role of DATABASE_URL, which the service runs with, gets the few privileges that it needs. */
const settings = z.object({ DATABASE_URL: databaseUrl(), DATABASE_OWNER_URL: databaseUrl().optional() });

await runTask('The migration of identity', async (env) => {
  process.stdout.write(`${describeMigrations(schema, await prepareSchema(readConfig(settings, env)))}\n`);
});
