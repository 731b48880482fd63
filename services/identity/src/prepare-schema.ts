import { grantRuntimeRole, migrate } from '@agent-service/store';
import { migrations } from './store/migrations/index.ts';

export const schema = 'identity';

interface SchemaUrls {
  readonly DATABASE_URL: string;
  readonly DATABASE_OWNER_URL?: string | undefined;
}

/**
 * Migrates the schema and returns the applied steps. With a separate role that owns the schema, the service's own role can add audit entries
 * and change none.
 */
export async function prepareSchema({ DATABASE_URL, DATABASE_OWNER_URL }: SchemaUrls): Promise<string[]> {
  const applied = await migrate({ url: DATABASE_OWNER_URL ?? DATABASE_URL, schema, migrations });
  if (DATABASE_OWNER_URL === undefined) return applied;
  const restricted = {
    audit_entries: ['select', 'insert'],
    audit_unsigned_chains: ['select', 'delete'],
    audit_key_start: ['select', 'insert'],
    migrations: ['select'],
  } as const;
  await grantRuntimeRole({ ownerUrl: DATABASE_OWNER_URL, runtimeUrl: DATABASE_URL, schema, restricted });
  return applied;
}
