import { readConfig, runTask } from '@agent-service/runtime';
import { z } from 'zod';
import { migrate, type NamedMigration } from './migrations.ts';
import { databaseSettings } from './store.ts';

const schemaOfSettings = z.object({ DATABASE_URL: databaseSettings.DATABASE_URL });

interface MigratedSchema {
  readonly schema: string;
  readonly migrations: readonly NamedMigration[];
}

/** A service's program that migrates its schema and ends: deployments run it before they replace the service's processes. */
export async function runMigrations({ schema, migrations }: MigratedSchema): Promise<void> {
  await runTask(`The migration of ${schema}`, async (env) => {
    const applied = await migrate({ url: readConfig(schemaOfSettings, env).DATABASE_URL, schema, migrations });
    process.stdout.write(`${describeMigrations(schema, applied)}\n`);
  });
}

/** One line for the log of the deployment. */
export function describeMigrations(schema: string, applied: readonly string[]): string {
  return applied.length === 0 ? `${schema}: up to date` : `${schema}: applied ${applied.join(', ')}`;
}
