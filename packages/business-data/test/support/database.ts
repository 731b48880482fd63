import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll } from '@jest/globals';
import pg from 'pg';

/** A database for one test file with an administrator's connection: created before its tests, dropped after them. */
export function databaseOfFile(): { readonly url: string; readonly administrator: pg.Client } {
  let database: TestDatabase;
  let administrator: pg.Client;
  beforeAll(async () => {
    database = await testDatabase();
    administrator = new pg.Client({ connectionString: database.url });
    await administrator.connect();
  });
  afterAll(async () => {
    await administrator.end();
    await database.drop();
  });
  return {
    get url() {
      return database.url;
    },
    get administrator() {
      return administrator;
    },
  };
}
