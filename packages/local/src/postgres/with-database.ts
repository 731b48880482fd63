import { primaryUrl } from '@agent-service/store/servers/primary';
import { Client } from 'pg';

/** Connects to a database for as long as the work takes. The limit holds for the connection and for each statement, waits for locks included. */
export async function withDatabase<T>(url: string, limitMs: number, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: await primaryUrl(url), connectionTimeoutMillis: limitMs });
  // A connection that breaks fails the next statement; an error event without a listener would end this process.
  client.on('error', () => undefined);
  await client.connect();
  try {
    // Not as a start-up parameter, which poolers in between refuse.
    await client.query(`set statement_timeout = ${limitMs}`);
    return await work(client);
  } finally {
    await client.end();
  }
}
