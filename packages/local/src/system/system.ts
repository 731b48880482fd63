import { type Client, type ClientConfig, clientSettings, createClient, type ServiceName } from '@agent-service/contracts';
import { readConfig } from '@agent-service/runtime/config';
import { OperatorFault } from '@agent-service/runtime/failures';
import { z } from 'zod';
import { listenFault } from '../host/ports.ts';
import type { PostgresProfile } from '../postgres/cluster.ts';
import type { ManagedProcess } from '../processes/managed.ts';
import { type CatalogueEntry, catalogue as wholeCatalogue } from './catalogue.ts';
import { checkSettings } from './check-settings.ts';
import { enabledEntries, endpointsOf, type Instance, planInstances } from './plan.ts';
import { runtimeRoleName } from './provision.ts';
import { loadSecrets, operatorSecretsOf, type SecretName } from './secrets.ts';
import { bringUpDatabase, bringUpRedis } from './servers.ts';
import { startServices } from './services.ts';
import type { LocalSettings } from './settings.ts';
import { createStack, openRegistry } from './stack.ts';

export interface LocalOptions {
  /** The operator's settings, as in the environment: PORT, DATA_DIR, DATABASE_URL, REDIS_URL, REPLICAS and what services understand. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** Called before the `http` processes start, when all others are ready. */
  readonly seed?: (system: LocalSystem, report: (line: string) => void) => Promise<void>;
  /** Receives progress lines. */
  readonly report?: (line: string) => void;
  /** Aborting stops a start halfway; processes that run by then are stopped. */
  readonly signal?: AbortSignal;
  readonly catalogue?: readonly CatalogueEntry[];
  /** The folder of the build that the processes run from: by default that of this process, and the sources if it has none. */
  readonly build?: string | undefined;
  /** How the PostgreSQL of its own keeps data; `durable` as a rule. */
  readonly postgresProfile?: PostgresProfile;
}

/** A running system of all processes on this machine. */
export interface LocalSystem {
  /** The URL of the first gateway. */
  readonly url: string;
  /** The URL of the portal; undefined where the catalogue has none. */
  readonly portalUrl: string | undefined;
  readonly dataDir: string;
  /** The address of every process, by name; the same as endpoints.json. */
  readonly endpoints: Readonly<Record<string, string>>;
  /** The secrets that the services share. */
  readonly secrets: Readonly<Record<SecretName, string>>;
  /** The certificates with which the services are called; empty where they speak plain text on this machine. */
  readonly grpc: ClientConfig;
  /** The password of the role that reads the demonstration's business data. */
  readonly demonstrationPassword: string;
  readonly processes: ReadonlyMap<string, ManagedProcess>;
  /** Stops everything in reverse order; further calls wait for the first. */
  stop(): Promise<void>;
}

const certificates = z.object(clientSettings).pick({ GRPC_TLS_CA_FILE: true, GRPC_TLS_CERT_FILE: true, GRPC_TLS_KEY_FILE: true });

/** Starts the whole system, or nothing: a start that fails stops what it had started and rejects with the reason. */
export async function startLocalSystem(options: LocalOptions): Promise<LocalSystem> {
  const { env, signal, report = () => undefined } = options;
  const catalogue = enabledEntries(options.catalogue ?? wholeCatalogue, env);
  const { settings, replicas, modelKeys } = await checkSettings({ catalogue, env, build: options.build, report });
  const registry = await openRegistry(settings.DATA_DIR);
  const stack = createStack({ dataDir: settings.DATA_DIR, registry, report });
  const abort = () => void stack.stop();
  signal?.addEventListener('abort', abort, { once: true });
  try {
    signal?.throwIfAborted();
    await refuseTakenPorts(catalogue, settings);
    const owners = catalogue.filter(({ database }) => database).map(({ name }) => name);
    const runtimeRoles = catalogue.filter(({ runtimeRole }) => runtimeRole).map(({ name }) => name);
    const secrets = loadSecrets(settings.DATA_DIR, [...owners, ...runtimeRoles.map(runtimeRoleName)], env);
    const knownPorts = { PORT: settings.PORT, PORTAL_PORT: settings.PORTAL_PORT };
    const instances = await planInstances(catalogue, replicas, knownPorts, settings.LISTEN_HOST);
    const context = { settings, secrets, report, run: stack.run, postgresProfile: options.postgresProfile ?? 'durable' };
    const [database, redisUrl] = await stack.together('PostgreSQL and Redis', [
      bringUpDatabase(context, owners, runtimeRoles),
      bringUpRedis(context),
    ]);
    const endpoints = { ...endpointsOf(instances), postgres: database.adminUrl, redis: redisUrl };
    registry.publishEndpoints(endpoints);
    const system: LocalSystem = {
      url: publicUrl(instances),
      portalUrl: portalUrl(instances, env['PORTAL_URL']),
      dataDir: settings.DATA_DIR,
      endpoints,
      secrets: secrets.settings,
      grpc: readConfig(certificates, env),
      demonstrationPassword: secrets.demonstrationPassword,
      processes: stack.processes,
      stop: stack.stop,
    };
    const start = startServices({
      instances,
      operator: env,
      modelKeys,
      secrets,
      database,
      redisUrl,
      settings,
      stack,
      build: options.build,
    });
    await start('services', ({ kind }) => kind === 'grpc');
    // A layer of their own, so that a stop lets them return their work while the services still run.
    const workers = start('workers', ({ kind }) => kind === 'worker');
    // A failure of one waits for the other, which would use services that are being stopped.
    await Promise.allSettled([workers, options.seed?.(system, report)]).then(throwFirstFailure);
    await start('the public API', ({ kind }) => kind === 'http');
    signal?.throwIfAborted();
    return system;
  } catch (cause) {
    await stack.stop();
    throw cause;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

function throwFirstFailure(outcomes: readonly PromiseSettledResult<unknown>[]): void {
  const failure = outcomes.find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected') throw failure.reason;
}

function publicUrl(instances: readonly Instance[]): string {
  const first = instances.find(({ entry }) => entry.port?.setting === 'PORT') ?? instances.find(({ entry }) => entry.kind === 'http');
  return `http://${first?.host}:${first?.port}`;
}

function portalUrl(instances: readonly Instance[], configured: string | undefined): string | undefined {
  const portal = instances.find(({ entry }) => entry.port?.setting === 'PORTAL_PORT');
  return portal && (configured || `http://${portal.host}:${portal.port}`);
}

async function refuseTakenPorts(catalogue: readonly CatalogueEntry[], settings: LocalSettings): Promise<void> {
  const { LISTEN_HOST: host } = settings;
  const settingsOfPorts = new Map<number, string>();
  for (const { port } of catalogue) {
    if (!port) continue;
    const number = settings[port.setting];
    const other = settingsOfPorts.get(number);
    // 0 is any free port.
    if (number !== 0 && other) throw new OperatorFault(`${other} and ${port.setting} name the same port, ${number}. Choose two.`);
    settingsOfPorts.set(number, port.setting);
    const fault = await listenFault(number, host);
    if (fault !== undefined) throw new OperatorFault(await listenFaultText(fault, port.setting, catalogue, settings));
  }
}

type PortSetting = NonNullable<CatalogueEntry['port']>['setting'];

async function listenFaultText(
  fault: string,
  setting: PortSetting,
  catalogue: readonly CatalogueEntry[],
  settings: LocalSettings,
): Promise<string> {
  const { [setting]: number, LISTEN_HOST: host } = settings;
  const commandFrom = async (first: number) => `${setting}=${await findFreePort(first, catalogue, settings)} npm start`;
  if (fault === 'EADDRINUSE')
    return `${setting}: port ${number} is in use by another program. Stop that program, or choose another port: ${await commandFrom(number + 1)}`;
  if (fault === 'EACCES')
    return `${setting}: this user may not listen on port ${number}. Choose another port: ${await commandFrom(unprivilegedPort)}`;
  return `LISTEN_HOST: no server can listen on ${host} (${fault}). Name an address of this machine, or leave the setting out.`;
}

const unprivilegedPort = 8080;
const lastPort = 65_535;

/** The first port from this one on that no setting names and on which a server can listen; 0, which is any free port, if there is none. */
async function findFreePort(first: number, catalogue: readonly CatalogueEntry[], settings: LocalSettings): Promise<number> {
  const named = new Set(catalogue.flatMap(({ port }) => (port ? [settings[port.setting]] : [])));
  for (let port = first; port <= lastPort; port += 1)
    if (!named.has(port) && (await listenFault(port, settings.LISTEN_HOST)) === undefined) return port;
  return 0;
}

/** A client of a service of this system that signs its calls as `as`. */
export function clientOf<Name extends ServiceName>(system: CallableSystem, service: Name, as: string): Client<Name> {
  const address = system.endpoints[service];
  if (!address) throw new Error(`the system runs without ${service}`);
  return createClient(service, { address, as, config: { ...system.grpc, SERVICE_SECRET: operatorSecretsOf(system.secrets) } });
}

/** A system whose services can be called; of one that runs on several machines, with the settings of its gRPC. */
export interface CallableSystem {
  readonly endpoints: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Pick<LocalSystem['secrets'], 'SERVICE_SECRET'>>;
  readonly grpc?: ClientConfig;
}
