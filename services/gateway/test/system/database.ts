import { withDatabase } from '@agent-service/testkit';
import type { Client } from 'pg';

/** Tables that background work may change without a request. */
const restless = /^(credential_uses|outbox|idempotency_records)$/;

async function tablesOf(client: Client): Promise<{ schema: string; name: string }[]> {
  const { rows } = await client.query<{ schema: string; name: string }>(
    "select schemaname as schema, tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema') order by 1, 2",
  );
  return rows;
}

/** Columns with the time of a sweep's next check, which the sweep itself updates. */
const restlessColumns = ['look_at'];

/** All rows of all services as text, by table. */
export const dump = (url: string): Promise<Map<string, string[]>> => content(url, 't::text');

function content(url: string, line: string): Promise<Map<string, string[]>> {
  return withDatabase(url, async (client) => {
    const rowsByTable = new Map<string, string[]>();
    for (const { schema, name } of await tablesOf(client)) {
      const { rows } = await client.query<{ line: string }>(
        `select ${line} as line from ${client.escapeIdentifier(schema)}.${client.escapeIdentifier(name)} t order by 1`,
      );
      rowsByTable.set(
        `${schema}.${name}`,
        rows.map((row) => row.line),
      );
    }
    return rowsByTable;
  });
}

/** The rows that a refused request must not change. */
export async function lastingState(url: string): Promise<Map<string, string[]>> {
  const deleted = await deletedConversations(url);
  const lasting = await content(url, `(to_jsonb(t) - '{${restlessColumns.join(',')}}'::text[])::text`);
  const tables = [...lasting].filter(([table]) => !restless.test(table.split('.')[1] ?? ''));
  return new Map(tables.map(([table, lines]) => [table, lines.filter((line) => !deleted.some((id) => line.includes(id)))]));
}

/** A sweep removes their rows some time after their deletion. */
async function deletedConversations(url: string): Promise<string[]> {
  return withDatabase(url, async (client) => {
    const { rows } = await client.query<{ id: string }>('select id from agents.conversations where deleted_at is not null');
    return rows.map(({ id }) => id);
  });
}

/** Waits until every outbox is empty. */
export function untilOutboxesAreEmpty(url: string): Promise<void> {
  return withDatabase(url, async (client) => {
    const outboxes = (await tablesOf(client)).filter(({ name }) => name === 'outbox');
    for (const { schema } of outboxes) {
      const left = async () => (await client.query(`select 1 from ${client.escapeIdentifier(schema)}.outbox limit 1`)).rowCount ?? 0;
      while ((await left()) > 0) await client.query('select pg_sleep(0.01)');
    }
  });
}
