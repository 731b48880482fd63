import { readConfig, runTask, setting } from '@agent-service/runtime';
import { describeMigrations } from '@agent-service/store/run-migrations';
import { z } from 'zod';
import { prepareSchema, schema } from './prepare-schema.ts';

const databaseUrl = setting.url('postgres:', 'postgresql:');
/** With an owner, the role of DATABASE_URL is the one that the service runs with, and gets its privileges here. */
const settings = z.object({ DATABASE_URL: databaseUrl, DATABASE_OWNER_URL: databaseUrl.optional() });

await runTask('The migration of identity', async (env) => {
  process.stdout.write(`${describeMigrations(schema, await prepareSchema(readConfig(settings, env)))}\n`);
});
