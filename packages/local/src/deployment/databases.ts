import { LocalError, reasonOf } from '../host/local-error.ts';
import { until } from '../host/waiting.ts';
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
  let failure: unknown;
  const answers = () =>
    withDatabase(url, connectLimitMs, (client) => client.query('select 1')).then(
      () => true,
      (cause: unknown) => {
        failure = cause;
        return false;
      },
    );
  if (await until(answers, waitLimitMs, retryEveryMs)) return;
  const { host } = new URL(url);
  throw new LocalError(`The database at ${host} cannot be used after ${waitLimitMs / 1000} s: ${reasonOf(failure)}`, { cause: failure });
}
