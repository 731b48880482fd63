import { join, resolve } from 'node:path';
import { serviceKeysOf } from '@agent-service/contracts/callers/service-keys';
import { ownBuild, repositoryRoot } from '../host/environment.ts';
import { readIfPresent } from '../host/files.ts';
import { nodeProcess } from '../processes/spec.ts';
import type { CatalogueEntry } from './catalogue.ts';
import { type Instance, targetOf } from './plan.ts';
import { type Secrets, secretNames, settingName } from './secrets.ts';
import type { Database } from './servers.ts';
import type { LocalSettings } from './settings.ts';
import type { Stack } from './stack.ts';

interface ServicesOptions {
  readonly instances: readonly Instance[];
  readonly operator: Readonly<NodeJS.ProcessEnv>;
  readonly secrets: Secrets;
  readonly database: Database;
  readonly redisUrl: string;
  readonly settings: LocalSettings;
  readonly stack: Stack;
  /** The folder of a build whose bundles are run; the build of this process by default, and the sources if it has none. */
  readonly build: string | undefined;
}

/** Starts those processes of the plan that are asked for, all at once, and waits until every one is ready. */
export function startServices({ instances, database, settings, stack, build = ownBuild, ...given }: ServicesOptions) {
  const compileCache = join(build ?? settings.DATA_DIR, 'compile-cache');
  const databaseUrlsOf = (name: string) => ({ databaseUrl: database.urls[name], databaseOwnerUrl: database.ownerUrls[name] });
  const start = (instance: Instance) => {
    const { entry, name, opsPort } = instance;
    const env = childEnvironment({ ...given, instance, instances, compileCache, ...databaseUrlsOf(entry.name) });
    return stack.run(nodeProcess({ name, entry: programOf(entry, build), workingFolder: repositoryRoot, env, opsPort }));
  };
  return async (what: string, isSelected: (entry: CatalogueEntry) => boolean): Promise<void> => {
    const selected = instances.filter(({ entry }) => isSelected(entry));
    if (selected.length === 0) return;
    await stack.together(`${what} (${selected.map(({ name }) => name).join(', ')})`, selected.map(start));
  };
}

/** Entries with a file outside of the services, as in tests, have no bundle. */
function programOf({ name, entry }: CatalogueEntry, build: string | undefined): string {
  return build !== undefined && entry.startsWith('services/') ? join(build, `${name}.js`) : resolve(repositoryRoot, entry);
}

interface ChildEnvironmentOptions {
  readonly instance: Instance;
  readonly instances: readonly Instance[];
  readonly operator: Readonly<NodeJS.ProcessEnv>;
  readonly secrets: Secrets;
  readonly databaseUrl: string | undefined;
  readonly databaseOwnerUrl: string | undefined;
  readonly redisUrl: string;
  readonly compileCache: string;
}

/** Variables that Node, the C library, tracing and TLS read. None is selected by a prefix: NODE_AUTH_TOKEN is a secret. */
const ofTheMachine = [
  ...['PATH', 'HOME', 'USER', 'TZ', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TMPDIR', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'UV_THREADPOOL_SIZE'],
  'MALLOC_ARENA_MAX',
  ...['NODE_OPTIONS', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'NODE_COMPILE_CACHE', 'NODE_V8_COVERAGE', 'NODE_NO_WARNINGS', 'NODE_DEBUG'],
  ...['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_RESOURCE_ATTRIBUTES', 'OTEL_SERVICE_NAME', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG'],
];
/** The C library keeps freed memory in as many arenas as there are threads: 2 to 6 MB a process. */
const mallocArenas = '2';
const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy', 'NODE_USE_ENV_PROXY'];

/** Settings of every process of ours. */
const ofEveryProcess = [
  ...['LOG_LEVEL', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'DRAIN_DELAY_MS'],
  ...['GRPC_TLS_CA_FILE', 'GRPC_TLS_CERT_FILE', 'GRPC_TLS_KEY_FILE', 'GRPC_ALLOW_PLAINTEXT'],
];

/** The environment of a process: only the variables and settings that its entry in the catalogue lists. */
function childEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const { instance, operator, secrets, databaseUrl, databaseOwnerUrl, redisUrl, compileCache } = options;
  const { entry } = instance;
  return {
    NODE_COMPILE_CACHE: compileCache,
    MALLOC_ARENA_MAX: mallocArenas,
    ...passedOn(operator, namesFor(entry, operator)),
    HOST: '127.0.0.1',
    OPS_PORT: String(instance.opsPort),
    ...portSetting(entry, instance.port),
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...(databaseOwnerUrl === undefined ? {} : { DATABASE_OWNER_URL: databaseOwnerUrl }),
    ...(entry.redis ? { REDIS_URL: redisUrl } : {}),
    ...Object.fromEntries(entry.secrets.map((name) => [name, secrets.settings[name]])),
    SERVICE_KEYS: serviceKeysOf(
      secrets.settings.SERVICE_SECRET.split(/[\s,]+/).filter(Boolean),
      entry.name,
      entry.needs,
      entry.kind === 'grpc',
    ),
    ...Object.fromEntries(entry.needs.map((service) => [`${settingName(service)}_ADDRESS`, targetOf(service, options.instances)])),
  };
}

/** The names of the operator's variables that this process gets. It gets no others. */
export function namesFor(entry: CatalogueEntry, operator: Readonly<NodeJS.ProcessEnv>): string[] {
  const keys = entry.models ? modelKeyNames(operator['MODELS_FILE']) : [];
  return [...ofTheMachine, ...ofEveryProcess, ...entry.settings, ...(entry.outbound ? proxies : []), ...keys];
}

function passedOn(operator: Readonly<NodeJS.ProcessEnv>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (operator[name] === undefined ? [] : [[name, operator[name]]])));
}

/** The variables that a models file names as keys. A file that is not right is reported by the process that uses it. */
function modelKeyNames(file: string | undefined): string[] {
  const content = file ? readIfPresent(resolve(repositoryRoot, file)) : undefined;
  const names = [...(content ?? '').matchAll(/"api_key_env"\s*:\s*"([A-Za-z_][A-Za-z0-9_]*)"/g)].map((match) => match[1] ?? '');
  return names.filter((name) => !isOwnSecret(name));
}

/** A models file must not be able to name a secret of ours. */
const isOwnSecret = (name: string) => ['SERVICE_KEYS', 'AUDIT_KEYS', ...secretNames].includes(name) || /(_URL|_PASSWORD)$/.test(name);

function portSetting(entry: CatalogueEntry, port: number | undefined): Record<string, string> {
  if (port === undefined) return {};
  return { [entry.kind === 'grpc' ? 'GRPC_PORT' : (entry.port?.setting ?? 'PORT')]: String(port) };
}
