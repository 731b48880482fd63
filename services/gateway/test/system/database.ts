import { Client } from 'pg';

/** Tables that work in the background may touch while nobody asks for anything. */
const restless = /^(outbox|idempotency_records)$/;

async function withDatabase<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function tablesOf(client: Client): Promise<{ schema: string; name: string }[]> {
  const { rows } = await client.query<{ schema: string; name: string }>(
    "select schemaname as schema, tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema') order by 1, 2",
  );
  return rows;
}

/** Every row of every service as text, by table. */
export function dump(url: string): Promise<Map<string, string[]>> {
  return withDatabase(url, async (client) => {
    const content = new Map<string, string[]>();
    for (const { schema, name } of await tablesOf(client)) {
      const { rows } = await client.query<{ line: string }>(
        `select t::text as line from ${client.escapeIdentifier(schema)}.${client.escapeIdentifier(name)} t order by 1`,
      );
      content.set(
        `${schema}.${name}`,
        rows.map((row) => row.line),
      );
    }
    return content;
  });
}

/** What a request that was refused must leave exactly as it was. */
export async function lastingState(url: string): Promise<Map<string, string[]>> {
  const content = await dump(url);
  return new Map([...content].filter(([table]) => !restless.test(table.split('.')[1] ?? '')));
}

/** Waits until no service has anything left to hand on. */
export function untilOutboxesAreEmpty(url: string): Promise<void> {
  return withDatabase(url, async (client) => {
    const outboxes = (await tablesOf(client)).filter(({ name }) => name === 'outbox');
    for (const { schema } of outboxes) {
      const left = async () => (await client.query(`select 1 from ${client.escapeIdentifier(schema)}.outbox limit 1`)).rowCount ?? 0;
      while ((await left()) > 0) await client.query('select pg_sleep(0.01)');
    }
  });
}
