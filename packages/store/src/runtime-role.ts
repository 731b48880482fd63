import { Client } from 'pg';

const limitMs = 30_000;

interface RuntimeRoleOptions {
  /** As the owner of the schema. */
  readonly ownerUrl: string;
  /** As the role that the service runs with. */
  readonly runtimeUrl: string;
  readonly schema: string;
  /** What the role may do with these tables, instead of reading and writing as with all others. */
  readonly restricted: Readonly<Record<string, readonly ('select' | 'insert' | 'delete')[]>>;
}

/**
 * Lets a role that owns nothing work with the schema. A table that it may only read and add to stays as it is whatever
 * runs in the service, because only the owner can switch triggers off or grant more.
 */
export async function grantRuntimeRole({ ownerUrl, runtimeUrl, schema, restricted }: RuntimeRoleOptions): Promise<void> {
  const client = new Client({ connectionString: ownerUrl, connectionTimeoutMillis: 5_000, statement_timeout: limitMs });
  await client.connect();
  try {
    const role = client.escapeIdentifier(decodeURIComponent(new URL(runtimeUrl).username));
    const own = client.escapeIdentifier(schema);
    await client.query('begin');
    // Replicas that grant the same at the same time fail.
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`agent-service grants ${schema}`]);
    await client.query(`grant usage on schema ${own} to ${role}`);
    await client.query(`grant select, insert, update, delete on all tables in schema ${own} to ${role}`);
    await client.query(`grant usage on all sequences in schema ${own} to ${role}`);
    for (const [name, privileges] of Object.entries(restricted)) {
      const table = `${own}.${client.escapeIdentifier(name)}`;
      await client.query(`revoke all on ${table} from ${role}`);
      await client.query(`grant ${privileges.join(', ')} on ${table} to ${role}`);
    }
    await client.query('commit');
  } finally {
    await client.end();
  }
}
