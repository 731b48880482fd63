import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { nodeOptions, readConfig, setting } from '@agent-service/runtime/config';
import { OperatorFault } from '@agent-service/runtime/failures';
import { runTask } from '@agent-service/runtime/run-process';
import { databaseUrl } from '@agent-service/store/servers/database-url';
import { z } from 'zod';
import { environment, ownBuild, repositoryRoot } from '../host/environment.ts';
import { provisionGivenDatabase, refuseOtherSystem, runtimeRoleName } from '../system/provision.ts';
import { databasePasswordName, settingName } from '../system/secrets.ts';
import { databaseOwners, runtimeRoles, waitForDatabase } from './databases.ts';

const optionalUrl = databaseUrl().optional();

/** Either the administrator's URL with a password for each role, from which roles and schemas are made, or a URL for each service. */
const settings = z.object({
  DATABASE_ADMIN_URL: optionalUrl,
  /** No process of this system runs yet, so that sessions with other passwords are those of another system. */
  NEW_INSTALLATION: setting.flag(false),
  ...Object.fromEntries(
    databaseOwners.flatMap((service) => [
      [`${settingName(service)}_DATABASE_URL`, optionalUrl],
      [`${settingName(service)}_DATABASE_OWNER_URL`, optionalUrl],
    ]),
  ),
  ...Object.fromEntries(
    [...databaseOwners, ...runtimeRoles.map(runtimeRoleName)].map((role) => [databasePasswordName(role), setting.text().optional()]),
  ),
});

type Config = Readonly<Record<string, string | undefined>>;

interface MigrationUrls {
  readonly urls: Readonly<Record<string, string>>;
  readonly ownerUrls: Readonly<Record<string, string>>;
}

/** Migrates the schemas of all services, before the processes of a new version start. */
await runTask('migrate', async (env) => {
  const { NEW_INSTALLATION: isNew, DATABASE_ADMIN_URL: adminUrl, ...config } = readConfig(settings, env);
  const { urls, ownerUrls } = adminUrl === undefined ? await readUrls(config) : await provision(adminUrl, isNew, config);
  const outcomes = await Promise.allSettled(databaseOwners.map((service) => migrate(service, urls[service], ownerUrls[service])));
  const failures = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Error] : []));
  if (failures.length > 0) throw new OperatorFault(failures.map(({ message }) => message).join('; '));
});

async function provision(adminUrl: string, isNew: boolean, config: Config): Promise<MigrationUrls> {
  await waitForDatabase(adminUrl);
  const password = (role: string) => requireSetting(config, databasePasswordName(role));
  const options = { services: databaseOwners, runtimeRoles, password };
  if (isNew) await refuseOtherSystem(adminUrl, options);
  return await provisionGivenDatabase(adminUrl, options);
}

async function readUrls(config: Config): Promise<MigrationUrls> {
  const urls = Object.fromEntries(
    databaseOwners.map((service) => [service, requireSetting(config, `${settingName(service)}_DATABASE_URL`)]),
  );
  const owners = runtimeRoles.map((service) => [service, config[`${settingName(service)}_DATABASE_OWNER_URL`]] as const);
  const ownerUrls = Object.fromEntries(owners.flatMap(([service, url]) => (url === undefined ? [] : [[service, url]])));
  await Promise.all(Object.entries({ ...urls, ...ownerUrls }).map(([, url]) => waitForDatabase(url)));
  return { urls, ownerUrls };
}

function requireSetting(config: Config, name: string): string {
  const value = config[name];
  if (value === undefined) throw new OperatorFault(`Set ${name}, or DATABASE_ADMIN_URL with a password for each role.`);
  return value;
}

/** Each schema is migrated by the program of its service, with the URLs of that service and nothing else. */
async function migrate(service: string, url: string | undefined, ownerUrl: string | undefined): Promise<void> {
  const entry =
    ownBuild === undefined ? resolve(repositoryRoot, 'services', service, 'src', 'migrate.ts') : join(ownBuild, `${service}-migrate.js`);
  const { PATH, NODE_COMPILE_CACHE, NODE_EXTRA_CA_CERTS } = environment;
  const inherited = { PATH, NODE_COMPILE_CACHE, NODE_EXTRA_CA_CERTS };
  const child = spawn(process.execPath, [...nodeOptions, entry], {
    env: { ...inherited, DATABASE_URL: url, ...(ownerUrl !== undefined && { DATABASE_OWNER_URL: ownerUrl }) },
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new OperatorFault(`${service} was not migrated`);
}
