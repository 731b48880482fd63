import type { CatalogueEntry } from './catalogue.ts';
import { type Instance, targetOf } from './plan.ts';
import { type Secrets, secretNames, settingName } from './secrets.ts';

export interface ChildEnvironmentOptions {
  readonly instance: Instance;
  readonly instances: readonly Instance[];
  readonly operator: Readonly<NodeJS.ProcessEnv>;
  readonly secrets: Secrets;
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string;
  readonly compileCache: string;
}

/** Never passed on from the operator's environment: each process gets its own value of those it needs, and none of the others. */
const givenPerProcess = [
  'DATABASE_URL',
  'REDIS_URL',
  'HOST',
  'PORT',
  'PORTAL_PORT',
  'GRPC_PORT',
  'OPS_PORT',
  'POSTGRES_PASSWORD',
  'REDIS_PASSWORD',
  'DEMONSTRATION_PASSWORD',
  ...secretNames,
];

/** All that a process is told: the operator's own settings, and of ours only what its entry in the catalogue asks for. */
export function childEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const { instance, operator, secrets, databaseUrl, redisUrl, compileCache } = options;
  const { entry } = instance;
  return {
    NODE_COMPILE_CACHE: compileCache,
    ...passedOn(operator),
    HOST: '127.0.0.1',
    OPS_PORT: String(instance.opsPort),
    ...portSetting(entry, instance.port),
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...(entry.redis ? { REDIS_URL: redisUrl } : {}),
    ...Object.fromEntries(entry.secrets.map((name) => [name, secrets.settings[name]])),
    ...Object.fromEntries(entry.needs.map((service) => [`${settingName(service)}_ADDRESS`, targetOf(service, options.instances)])),
  };
}

function passedOn(operator: Readonly<NodeJS.ProcessEnv>): Record<string, string> {
  const withheld = (name: string) =>
    givenPerProcess.includes(name) || name.endsWith('_ADDRESS') || name.startsWith('DATABASE_PASSWORD_') || name.startsWith('npm_');
  return Object.fromEntries(
    Object.entries(operator).flatMap(([name, value]) => (value === undefined || withheld(name) ? [] : [[name, value]])),
  );
}

function portSetting(entry: CatalogueEntry, port: number | undefined): Record<string, string> {
  if (port === undefined) return {};
  return { [entry.kind === 'grpc' ? 'GRPC_PORT' : (entry.port?.setting ?? 'PORT')]: String(port) };
}
