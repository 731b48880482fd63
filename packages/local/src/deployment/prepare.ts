import { setTimeout as pause } from 'node:timers/promises';
import { clientSettings } from '@agent-service/contracts/calls/settings';
import { readConfig, setting } from '@agent-service/runtime/config';
import { OperatorFault } from '@agent-service/runtime/failures';
import { runTask } from '@agent-service/runtime/run-process';
import { databaseUrl } from '@agent-service/store/servers/database-url';
import { z } from 'zod';
import { writeFileAtomically } from '../host/files.ts';
import { untilSucceeded } from '../host/waiting.ts';
import { withDatabase } from '../postgres/with-database.ts';
import { answersOk } from '../processes/spec.ts';
import { catalogue } from '../system/catalogue.ts';
import { serviceKeysFor } from '../system/environment.ts';

const names = catalogue.map(({ name }) => name) as [string, ...string[]];

const settings = z.object({
  SERVICE: z.enum(names, `must be one of ${names.join(', ')}`),
  /** The operator's secrets, which the service itself does not get. */
  SERVICE_SECRET: clientSettings.SERVICE_SECRET.unwrap(),
  /** The file that the service's keys are written to; its SETTINGS_FILE. */
  KEYS_FILE: setting.text(),
  /** Set for a service that has a schema, which is waited for. */
  DATABASE_URL: databaseUrl().optional(),
  /** How long this replica waits for its turn, in seconds, if others are ready at READY_URL. */
  TURN_SECONDS: setting.integer(0, 0, 600),
  READY_URL: setting.url('http:').optional(),
});

const migratedLimitMs = 600_000;
const retryEveryMs = 500;
const connectLimitMs = 5_000;

/**
 * The init container of a service: derives the keys that the service signs its calls with, and waits until its schema was migrated. A service that
 * started before would end, and wait longer each time. An upgrade creates a pod of every service at once, and a small node that starts them all at once
 * leaves no processor time to those that serve: a replica that only joins others waits for its turn.
 */
await runTask('prepare', async (env) => {
  const { SERVICE, SERVICE_SECRET, KEYS_FILE, DATABASE_URL, TURN_SECONDS, READY_URL } = readConfig(settings, env);
  const entry = catalogue.find(({ name }) => name === SERVICE);
  if (!entry) throw new OperatorFault(`There is no service ${SERVICE}.`);
  const keys = serviceKeysFor(entry, SERVICE_SECRET);
  writeFileAtomically(KEYS_FILE, `SERVICE_KEYS='${keys}'\n`);
  if (TURN_SECONDS > 0 && READY_URL !== undefined && (await answersOk(READY_URL))) {
    process.stdout.write(`Others of ${entry.name} are ready: this replica starts in ${TURN_SECONDS} s.\n`);
    await pause(TURN_SECONDS * 1_000);
  }
  if (DATABASE_URL !== undefined) await waitForSchema(DATABASE_URL, entry.name);
});

async function waitForSchema(url: string, schema: string): Promise<void> {
  const read = () =>
    withDatabase(url, connectLimitMs, (client) => client.query(`select 1 from ${client.escapeIdentifier(schema)}.migrations limit 1`));
  await untilSucceeded(read, `The schema ${schema} was not migrated`, { limitMs: migratedLimitMs, everyMs: retryEveryMs });
}
