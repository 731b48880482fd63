import { serverUrls } from '@agent-service/store/servers/database-url';
import { untilSucceeded } from '../host/waiting.ts';
import { withDatabase } from '../postgres/with-database.ts';
import { catalogue } from '../system/catalogue.ts';

/** The services that own a schema. */
export const databaseOwners: readonly string[] = catalogue.filter(({ database }) => database).map(({ name }) => name);

/** Those of them that run with another role than the schema's owner. */
export const runtimeRoles: readonly string[] = catalogue.filter(({ runtimeRole }) => runtimeRole).map(({ name }) => name);

const waitLimitMs = 120_000;
const retryEveryMs = 500;
const connectLimitMs = 5_000;

/** A database that was started at the same time needs a while. */
export async function waitForDatabase(url: string): Promise<void> {
  const hosts = serverUrls(url)
    .map((each) => new URL(each).host)
    .join(', ');
  const ask = () => withDatabase(url, connectLimitMs, (client) => client.query('select 1'));
  await untilSucceeded(ask, `The database at ${hosts} cannot be used`, { limitMs: waitLimitMs, everyMs: retryEveryMs });
}
