/**
 * Reads the data sources with these URLs, one after the other: `node read-fake-servers.ts URL…`. Prints a line for each. An uncaught error
 * ends this process as it ends those of the services.
 */
import { createDataSource } from '../../src/data-source.ts';
import type { DataFailure } from '../../src/failure.ts';
import { ownPeak } from './own-peak.ts';

const limits = { timeoutMs: 5_000, maxRows: 100, maxBytes: 1_000_000, timeZone: 'UTC' };
const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'read',
    ({ kind, message }: DataFailure) => `${kind}: ${message}`,
  );

for (const url of process.argv.slice(2)) {
  const source = createDataSource({ url, poolMax: 1 }, () => undefined);
  const survey = await outcomeOf(source.catalog());
  const statement = await outcomeOf(source.transaction('read only', limits, (run) => run('select of a model')));
  await source.close();
  process.stdout.write(`${JSON.stringify({ survey, statement, megabytes: ownPeak() })}\n`);
}
