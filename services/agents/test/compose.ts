import { createProcess, processSettings, readConfig } from '@agent-service/runtime';
import { databaseSettings, migrate, openStore, type Store } from '@agent-service/store';
import { type DatabaseContents, ownPostgres, type TestDatabase, testDatabase } from '@agent-service/testkit';
import { Pool } from 'pg';
import { z } from 'zod';
import { migrations } from '../src/store/migrations/index.ts';

const schema = 'agents';
const settings = z.object({ ...processSettings, ...databaseSettings });

/** The service's schema as its migrations make it. */
export const migrated: DatabaseContents = { name: schema, make: (url) => migrate({ url, schema, migrations }) };

export interface Composition {
  readonly store: Store;
  /** The same schema, past the store. */
  readonly database: Pool;
  readonly databaseUrl: string;
  stop(): Promise<void>;
}

/** The schema alone on a database of its own, or even on a server of its own: nothing happens in it that the test does not do. */
export async function compose({ ownServer = false } = {}): Promise<Composition> {
  const { url, drop } = await (ownServer ? startServer() : testDatabase(migrated));
  const config = readConfig(settings, { HOST: '127.0.0.1', OPS_PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: url });
  const running = await createProcess('agents', config, (process) => openStore(process, config, { schema, entities: [] }));
  const database = new Pool({ connectionString: url, max: 2, options: `-c search_path=${schema} -c timezone=UTC` });
  // A connection that is being closed may still be ended by the drop of its database.
  database.on('error', () => undefined);
  return {
    store: running.started,
    database,
    databaseUrl: url,
    async stop() {
      await database.end();
      await running.stop();
      await drop();
    },
  };
}

async function startServer(): Promise<Pick<TestDatabase, 'url' | 'drop'>> {
  const server = await ownPostgres();
  await migrated.make(server.url);
  return { url: server.url, drop: () => server.remove() };
}
