import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig, setting } from '@agent-service/runtime/config';
import { runTask } from '@agent-service/runtime/run-process';
import { databaseUrl } from '@agent-service/store/servers/database-url';
import { z } from 'zod';
import { writeFileAtomically } from '../host/files.ts';
import { type CatalogueEntry, catalogue } from '../system/catalogue.ts';
import { serviceKeysFor } from '../system/environment.ts';
import { provisionGivenDatabase, refuseOtherSystem, runtimeRoleName } from '../system/provision.ts';
import { hasSecrets, loadSecrets, operatorSecretsOf, type Secrets, settingName } from '../system/secrets.ts';
import { databaseOwners, runtimeRoles, waitForDatabase } from './databases.ts';

const settings = z.object({
  DATA_DIR: setting.text().default('/data'),
  /** Has a folder for each process, of which a container mounts its own only. */
  CONFIG_DIR: setting.text().default('/config'),
  DATABASE_URL: databaseUrl(),
});

/**
 * The first step of a deployment with Docker Compose: makes its secrets once, the database roles and schemas, and for each process a file with
 * the secrets that it may read. A repeated run changes nothing that exists.
 */
await runTask('setup', async (env) => {
  const { DATA_DIR, CONFIG_DIR, DATABASE_URL } = readConfig(settings, env);
  await waitForDatabase(DATABASE_URL);
  // Before secrets are stored, so that a repeated run is refused as well. Later the sessions of this system may have former passwords.
  if (!hasSecrets(DATA_DIR))
    await refuseOtherSystem(DATABASE_URL, { services: databaseOwners, runtimeRoles, password: () => randomUUID() });
  const secrets = loadSecrets(DATA_DIR, [...databaseOwners, ...runtimeRoles.map(runtimeRoleName)], env);
  const { urls, ownerUrls, note } = await provisionGivenDatabase(DATABASE_URL, {
    services: databaseOwners,
    runtimeRoles,
    password: secrets.databasePassword,
  });
  if (note) process.stdout.write(`${note}\n`);
  const write = (name: string, values: Readonly<Record<string, string | undefined>>) => writeSettings(join(CONFIG_DIR, name), values);
  for (const entry of catalogue) write(entry.name, settingsOf(entry, secrets, urls[entry.name]));
  write('migrate', {
    ...urlSettings(urls, 'DATABASE_URL'),
    ...urlSettings(ownerUrls, 'DATABASE_OWNER_URL'),
  });
  const operator = { SERVICE_SECRET: secrets.settings.SERVICE_SECRET };
  write('operator', operator);
  write('demonstration', { ...operator, DATABASE_URL, DEMONSTRATION_PASSWORD: secrets.demonstrationPassword });
  process.stdout.write(`The settings of ${catalogue.length} processes are in ${CONFIG_DIR}.\n`);
});

function settingsOf(entry: CatalogueEntry, { settings }: Secrets, databaseUrl: string | undefined): Record<string, string | undefined> {
  return {
    DATABASE_URL: databaseUrl,
    SERVICE_KEYS: serviceKeysFor(entry, operatorSecretsOf(settings)),
    ...Object.fromEntries(entry.secrets.map((name) => [name, settings[name]])),
  };
}

/** `IDENTITY_DATABASE_URL` and so on. */
function urlSettings(urls: Readonly<Record<string, string>>, setting: string): Record<string, string> {
  return Object.fromEntries(Object.entries(urls).map(([service, url]) => [`${settingName(service)}_${setting}`, url]));
}

function writeSettings(folder: string, values: Readonly<Record<string, string | undefined>>): void {
  const lines = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [`${name}='${value}'\n`]));
  mkdirSync(folder, { recursive: true });
  writeFileAtomically(join(folder, 'settings.env'), lines.join(''));
}
