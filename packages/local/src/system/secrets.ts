import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { clientSettings } from '@agent-service/contracts/calls/settings';
import { readConfig, setting } from '@agent-service/runtime/config';
import { z } from 'zod';
import { readJson, readJsonIfWhole, writeJson } from '../host/files.ts';

/** The secrets that services take as settings, and how each is made. */
const makers = {
  SERVICE_SECRET: randomText,
  KEY_HASH_SECRET: randomText,
  CURSOR_SECRET: randomText,
  ENCRYPTION_KEYS: () => `1:${randomBytes(32).toString('base64')}`,
};

export type SecretName = keyof typeof makers;
export const secretNames = Object.keys(makers) as SecretName[];

/** Secrets of the servers themselves, which no service gets under these names. */
const serverSecrets = ['POSTGRES_PASSWORD', 'REDIS_PASSWORD', 'DEMONSTRATION_PASSWORD'] as const;

const secretsSchema = z.record(z.string(), z.string());
const remedy = 'Bring the file back from a copy: without its secrets the data cannot be opened. Or start over with: npm run reset';

export interface Secrets {
  readonly settings: Readonly<Record<SecretName, string>>;
  readonly postgresPassword: string;
  readonly redisPassword: string;
  /** The password of the role that reads the demonstration's business data. */
  readonly demonstrationPassword: string;
  /** The password of a service's database role. */
  readonly databasePassword: (service: string) => string;
}

const fileOf = (dataDir: string) => join(dataDir, 'secrets.json');

/** False before the first start with this DATA_DIR. */
export const hasSecrets = (dataDir: string): boolean => existsSync(fileOf(dataDir));

const serviceSecret = z.object({ SERVICE_SECRET: clientSettings.SERVICE_SECRET });

/** Throws for a secret that the operator's commands would refuse. */
export function checkServiceSecret(settings: Readonly<Record<string, string | undefined>>): void {
  readConfig(serviceSecret, settings);
}

/** The first signs, all are accepted. */
export const operatorSecretsOf = (settings: { readonly SERVICE_SECRET: string }): string[] => setting.list().parse(settings.SERVICE_SECRET);

/** The secrets of this DATA_DIR: each is made when it is first needed, and stored. A secret in the environment takes precedence and is not stored. */
export function loadSecrets(dataDir: string, services: readonly string[], env: Readonly<NodeJS.ProcessEnv>): Secrets {
  const file = fileOf(dataDir);
  const known = readJson(file, secretsSchema, remedy) ?? {};
  const missing = Object.entries(allMakers(services)).filter(([name]) => known[name] === undefined);
  const secrets = { ...known, ...Object.fromEntries(missing.map(([name, make]) => [name, make()])) };
  const value = (name: string) => secrets[name] as string;
  const settings = Object.fromEntries(secretNames.map((name) => [name, env[name] || value(name)])) as Record<SecretName, string>;
  checkServiceSecret(settings);
  if (missing.length > 0) writeJson(file, secrets);
  return {
    settings,
    postgresPassword: value('POSTGRES_PASSWORD'),
    redisPassword: value('REDIS_PASSWORD'),
    demonstrationPassword: value('DEMONSTRATION_PASSWORD'),
    databasePassword: (service) => value(databasePasswordName(service)),
  };
}

/** Secrets of the right form, for checks of settings. They are neither kept nor used. */
export const placeholderSecrets = (env: Readonly<NodeJS.ProcessEnv>): Pick<Secrets, 'settings'> => ({
  settings: Object.fromEntries(secretNames.map((name) => [name, env[name] || makers[name]()])) as Record<SecretName, string>,
});

function allMakers(services: readonly string[]): Record<string, () => string> {
  const passwords = [...serverSecrets, ...services.map(databasePasswordName)];
  return { ...makers, ...Object.fromEntries(passwords.map((name) => [name, randomText])) };
}

export function databasePasswordName(role: string): string {
  return `DATABASE_PASSWORD_${settingName(role)}`;
}

/** A service's name as it stands in the names of settings. */
export function settingName(service: string): string {
  return service.toUpperCase().replaceAll('-', '_');
}

function randomText(): string {
  return randomBytes(32).toString('base64url');
}

const credentialsSchema = z.object({
  base_url: z.string(),
  organization_id: z.string(),
  /** The user that a start made with the organization. Absent in a file of the first release. */
  administrator_id: z.string().optional(),
  api_keys: z.object({ live: z.string(), test: z.string() }),
  oauth: z.object({ client_id: z.string(), client_secret: z.string() }),
  /** Absent in a file of a start without the portal. */
  portal_url: z.string().optional(),
  portal_login: z.object({ email: z.string(), password: z.string() }).optional(),
  /** False where the administrator of DATABASE_URL may not make the demonstration's database. */
  has_demonstration_data: z.boolean().optional(),
});

/** DATA_DIR/credentials.json: besides the banner the only clear copy of the demonstration's keys. */
export type Credentials = z.output<typeof credentialsSchema>;

/** Undefined where there is no such file, or none that is whole: then new credentials are made. */
export function readCredentials(path: string): Credentials | undefined {
  return readJsonIfWhole(path, credentialsSchema);
}
