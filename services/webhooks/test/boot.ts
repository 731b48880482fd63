import { createProcess } from '@agent-service/runtime';
import { migrate } from '@agent-service/store';
import { type DatabaseContents, testDatabase, testRedis } from '@agent-service/testkit';
import { Client as Database } from 'pg';
import { readWebhooksConfig, type WebhooksConfig } from '../src/config.ts';
import { start } from '../src/start.ts';
import { migrations } from '../src/store/migrations/index.ts';
import { type Clients, connectTo } from './clients.ts';
import { webhooksSettings } from './settings.ts';

export interface BootedService extends Clients {
  /** The address at which it serves. */
  address: string;
  databaseUrl: string;
  redisUrl: string;
  stop(): Promise<void>;
}

export interface BootOptions {
  now?: () => number;
  settings?: Record<string, string>;
}

/** The service's schema as its migrations make it. */
export const migrated: DatabaseContents = { name: 'webhooks', make: (url) => migrate({ url, schema: 'webhooks', migrations }) };

/** The service as its main file starts it, on a database and a key space of its own. */
export async function boot({ now, settings }: BootOptions = {}): Promise<BootedService> {
  const [database, { url: redisUrl }] = await Promise.all([testDatabase(migrated), testRedis()]);
  const config = readWebhooksConfig(webhooksSettings({ databaseUrl: database.url, redisUrl }, settings));
  const running = await createProcess('webhooks', config, (process, settings: WebhooksConfig) => start(process, settings, now));
  const address = `127.0.0.1:${running.started}`;
  const clients = connectTo(address);
  return {
    ...clients,
    address,
    databaseUrl: database.url,
    redisUrl,
    async stop() {
      clients.close();
      await running.stop();
      await database.drop();
    },
  };
}

/** A connection to the database itself, past the service. */
export async function connect(url: string): Promise<Database> {
  const database = new Database({ connectionString: url, options: '-c search_path=webhooks -c timezone=UTC' });
  await database.connect();
  return database;
}

export async function query<Row extends object>(url: string, statement: string, values: unknown[] = []): Promise<Row[]> {
  const database = await connect(url);
  try {
    return (await database.query<Row>(statement, values)).rows;
  } finally {
    await database.end();
  }
}

/** Lets the insert of the event wait for this transaction, after its subscribers were read. */
export async function holdInsert(database: Database, event: { organizationId: string; eventId: string; at: Date }): Promise<void> {
  await database.query('begin');
  await database.query(
    "insert into events (organization_id, environment, id, month, type, body, received_at) values ($1, 'live', $2, date_trunc('month', $3::timestamptz)::date, '', '', $3)",
    [event.organizationId, event.eventId, event.at],
  );
}
