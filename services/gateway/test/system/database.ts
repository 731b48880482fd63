import { withDatabase } from '@agent-service/testkit';
import type { Client } from 'pg';

/** Tables that background work may change without a request. */
const restless = /^(credential_uses|outbox|idempotency_records)$/;

/** Without partitions: their parents have their rows. */
async function tablesOf(client: Client): Promise<{ schema: string; name: string }[]> {
  const { rows } = await client.query<{ schema: string; name: string }>(
    `select relnamespace::regnamespace::text as schema, relname as name from pg_class
     where relkind in ('r', 'p') and not relispartition and relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema')
     order by 1, 2`,
  );
  return rows;
}

/** Columns with the time of a sweep's next check, which the sweep itself updates. */
const restlessColumns = ['look_at'];

/** All rows of all services as text, by table. */
export const dump = (url: string): Promise<Map<string, string[]>> => content(url, 't::text', () => true);

/** Tables without rows are left out. */
function content(url: string, line: string, includes: (name: string) => boolean): Promise<Map<string, string[]>> {
  return withDatabase(url, async (client) => {
    const tables = (await tablesOf(client)).filter(({ name }) => includes(name));
    const reads = tables.map(({ schema, name }) => {
      const table = `${client.escapeIdentifier(schema)}.${client.escapeIdentifier(name)}`;
      return `select ${client.escapeLiteral(`${schema}.${name}`)} as table, ${line} as line from ${table} t`;
    });
    const { rows } = await client.query<{ table: string; line: string }>(`${reads.join(' union all ')} order by 1, 2`);
    const rowsByTable = Map.groupBy(rows, ({ table }) => table);
    return new Map([...rowsByTable].map(([table, inTable]) => [table, inTable.map((row) => row.line)]));
  });
}

/** The rows that a refused request must not change. */
export async function lastingState(url: string): Promise<Map<string, string[]>> {
  const deleted = await deletedConversations(url);
  const withoutRestless = `(to_jsonb(t) - '{${restlessColumns.join(',')}}'::text[])::text`;
  const lasting = await content(url, withoutRestless, (name) => !restless.test(name));
  return new Map([...lasting].map(([table, lines]) => [table, lines.filter((line) => !deleted.some((id) => line.includes(id)))]));
}

/** A sweep removes their rows some time after their deletion, but not the audit entry of it. */
async function deletedConversations(url: string): Promise<string[]> {
  return withDatabase(url, async (client) => {
    const { rows } = await client.query<{ id: string }>(
      `select id from agents.conversations where deleted_at is not null
       union select target_id from identity.audit_entries where action = 'conversation.deleted'`,
    );
    return rows.map(({ id }) => id);
  });
}

/** Waits until every outbox is empty, and every answer is settled or released. */
export function untilOutboxesAreEmpty(url: string): Promise<void> {
  return withDatabase(url, async (client) => {
    // The row of an answer is its outbox message for the ledger.
    const isOwed = async () => ((await client.query('select 1 from agents.answers limit 1')).rowCount ?? 0) > 0;
    while (await isOwed()) await client.query('select pg_sleep(0.01)');
    const outboxes = (await tablesOf(client)).filter(({ name }) => name === 'outbox');
    for (const { schema } of outboxes) {
      const left = async () => (await client.query(`select 1 from ${client.escapeIdentifier(schema)}.outbox limit 1`)).rowCount ?? 0;
      while ((await left()) > 0) await client.query('select pg_sleep(0.01)');
    }
  });
}
