import { serviceKeysOf } from '@agent-service/contracts/callers/service-keys';
import type { CatalogueEntry } from './catalogue.ts';
import { type Instance, targetOf } from './plan.ts';
import { operatorSecretsOf, type Secrets, secretNames, settingName } from './secrets.ts';

interface ChildEnvironmentOptions {
  readonly instance: Instance;
  readonly instances: readonly Instance[];
  readonly operator: Readonly<NodeJS.ProcessEnv>;
  /** The variables that the models file names as keys. */
  readonly modelKeys: readonly string[];
  readonly secrets: Pick<Secrets, 'settings'>;
  readonly databaseUrl: string | undefined;
  readonly databaseOwnerUrl: string | undefined;
  readonly redisUrl: string;
  readonly compileCache: string;
  /** The address on which processes listen that face people. */
  readonly publicHost: string;
}

/** Variables that Node, the C library, tracing and TLS read. None is selected by a prefix: NODE_AUTH_TOKEN is a secret. */
const ofTheMachine = [
  ...['PATH', 'HOME', 'USER', 'TZ', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TMPDIR', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'UV_THREADPOOL_SIZE'],
  'MALLOC_ARENA_MAX',
  ...['NODE_OPTIONS', 'NODE_ENV', 'NODE_EXTRA_CA_CERTS', 'NODE_COMPILE_CACHE', 'NODE_V8_COVERAGE', 'NODE_NO_WARNINGS', 'NODE_DEBUG'],
  ...['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_RESOURCE_ATTRIBUTES'],
];
/** The C library keeps freed memory in as many arenas as there are threads: 2 to 6 MB a process. */
const mallocArenas = '2';
const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy', 'NODE_USE_ENV_PROXY'];

/** Settings of every process of ours. */
const ofEveryProcess = [
  ...['LOG_LEVEL', 'OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_TRACES_SAMPLER', 'OTEL_TRACES_SAMPLER_ARG', 'DRAIN_DELAY_MS'],
  ...['GRPC_TLS_CA_FILE', 'GRPC_TLS_CERT_FILE', 'GRPC_TLS_KEY_FILE', 'GRPC_ALLOW_PLAINTEXT'],
];

/** The environment of a process: only the variables and settings that its entry in the catalogue lists. */
export function childEnvironment(options: ChildEnvironmentOptions): Record<string, string> {
  const { instance, operator, secrets, databaseUrl, databaseOwnerUrl, redisUrl, compileCache } = options;
  const { entry } = instance;
  return {
    NODE_COMPILE_CACHE: compileCache,
    MALLOC_ARENA_MAX: mallocArenas,
    ...passedOn(operator, namesFor(entry, options.modelKeys)),
    HOST: entry.kind === 'http' ? options.publicHost : '127.0.0.1',
    OPS_PORT: String(instance.opsPort),
    ...portSetting(entry, instance.port),
    ...(databaseUrl === undefined ? {} : { DATABASE_URL: databaseUrl }),
    ...(databaseOwnerUrl === undefined ? {} : { DATABASE_OWNER_URL: databaseOwnerUrl }),
    ...(entry.redis ? { REDIS_URL: redisUrl } : {}),
    ...localNetworks(options),
    ...(entry.callsGateway ? { GATEWAY_URL: gatewayUrls(options.instances) } : {}),
    ...Object.fromEntries(entry.secrets.map((name) => [name, secrets.settings[name]])),
    SERVICE_KEYS: serviceKeysFor(entry, operatorSecretsOf(secrets.settings)),
    ...Object.fromEntries(entry.needs.map((service) => [`${settingName(service)}_ADDRESS`, targetOf(service, options.instances)])),
  };
}

/** The keys of a process. */
export const serviceKeysFor = ({ name, needs, kind }: CatalogueEntry, secrets: readonly string[]): string =>
  serviceKeysOf(secrets, name, needs, kind === 'grpc');

const networksSetting = 'DATA_SOURCE_ALLOWED_NETWORKS';
const thisMachine = /^(localhost|127(\.\d{1,3}){3}|::1)$/;

/** While the portal is served to this machine only, its user may connect the databases of this machine. */
function localNetworks({ instance: { entry }, operator, publicHost }: ChildEnvironmentOptions): Record<string, string> {
  const isDefault = entry.settings.includes(networksSetting) && operator[networksSetting] === undefined && thisMachine.test(publicHost);
  return isDefault ? { [networksSetting]: '127.0.0.0/8,::1/128' } : {};
}

/** The URLs of the public API on this machine; while settings are checked there is no address yet. */
function gatewayUrls(instances: readonly Instance[]): string {
  const urls = instances.filter(({ entry }) => entry.name === 'gateway').map(({ host, port }) => `http://${host}:${port}`);
  return urls.length > 0 ? urls.join(',') : 'http://127.0.0.1:8080';
}

/** The names of the operator's variables that this process gets. It gets no others. */
export function namesFor(entry: CatalogueEntry, modelKeys: readonly string[]): string[] {
  return [
    ...ofTheMachine,
    ...ofEveryProcess,
    ...entry.settings,
    ...(entry.outbound ? proxies : []),
    ...(entry.models ? modelKeys.filter((name) => !isOwnSecret(name)) : []),
  ];
}

function passedOn(operator: Readonly<NodeJS.ProcessEnv>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (operator[name] === undefined ? [] : [[name, operator[name]]])));
}

/** A models file must not be able to name a secret of ours. */
const isOwnSecret = (name: string) => ['SERVICE_KEYS', 'AUDIT_KEYS', ...secretNames].includes(name) || /(_URL|_PASSWORD)$/.test(name);

function portSetting(entry: CatalogueEntry, port: number | undefined): Record<string, string> {
  if (port === undefined) return {};
  return { [entry.kind === 'grpc' ? 'GRPC_PORT' : (entry.port?.setting ?? 'PORT')]: String(port) };
}
