import { ConfigurationError } from '@agent-service/runtime/config';
import { freePort, hostInUrl, reservePort } from '../host/ports.ts';
import type { CatalogueEntry } from './catalogue.ts';

/** One process that will run: an entry of the catalogue with the name and ports of this replica. */
export interface Instance {
  readonly entry: CatalogueEntry;
  readonly name: string;
  /** The host by which this machine reaches it, as in a URL. */
  readonly host: string;
  /** The port of its public HTTP or gRPC server; workers have none. */
  readonly port: number | undefined;
  readonly opsPort: number;
}

/** Gives every replica its name and ports, which it keeps over all restarts. Only the first of an `http` kind has the known port. */
export async function planInstances(
  entries: readonly CatalogueEntry[],
  replicas: ReadonlyMap<string, number>,
  knownPorts: Readonly<Record<string, number>>,
  listenHost = '127.0.0.1',
): Promise<Instance[]> {
  const instances: Instance[] = [];
  // They may be in the range of free ports.
  for (const port of Object.values(knownPorts)) reservePort(port);
  for (const entry of entries) {
    for (let index = 0; index < (replicas.get(entry.name) ?? 1); index++) {
      const known = index === 0 && entry.port ? knownPorts[entry.port.setting] || undefined : undefined;
      const port = entry.kind === 'worker' ? undefined : (known ?? (await freePort()));
      instances.push({ entry, name: replicaName(entry.name, index), host: hostOf(entry, listenHost), port, opsPort: await freePort() });
    }
  }
  return instances;
}

/** Only processes that face people listen on the operator's address. */
function hostOf({ kind }: CatalogueEntry, listenHost: string): string {
  return kind === 'http' ? hostInUrl(listenHost) : '127.0.0.1';
}

/** The address of a service: all its replicas in one gRPC target. */
export function targetOf(service: string, instances: readonly Instance[]): string {
  const addresses = instances.filter(({ entry }) => entry.name === service).map(({ port }) => `127.0.0.1:${port}`);
  return `ipv4:${addresses.join(',')}`;
}

/** The address of each process by name, as in endpoints.json. */
export function endpointsOf(instances: readonly Instance[]): Record<string, string> {
  const own = instances.flatMap(({ name, entry, host, port, opsPort }): [string, string][] => [
    ...(entry.kind === 'grpc' ? ([[name, `ipv4:127.0.0.1:${port}`]] as [string, string][]) : []),
    ...(entry.kind === 'http' ? ([[name, `http://${host}:${port}`]] as [string, string][]) : []),
    [`${name}.ops`, `http://${host}:${opsPort}`],
  ]);
  return Object.fromEntries(own);
}

const most = 20;

/** How many processes of each service run: `REPLICAS="identity=2 gateway=2"`, one of each that is not named. */
export function parseReplicas(text: string | undefined, services: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map(services.map((name) => [name, 1]));
  for (const part of (text ?? '').split(/[\s,]+/).filter(Boolean)) {
    const [, name = '', count = ''] = /^([a-z-]+)=(\d+)$/.exec(part) ?? [];
    if (!counts.has(name))
      throw new ConfigurationError([`REPLICAS: "${part}" should be name=number, with a name out of: ${services.join(', ')}`]);
    if (Number(count) < 1 || Number(count) > most)
      throw new ConfigurationError([`REPLICAS: "${part}" asks for a number outside of 1 to ${most}`]);
    counts.set(name, Number(count));
  }
  return counts;
}

/** `identity`, `identity-2`, `identity-3` … */
function replicaName(service: string, index: number): string {
  return index === 0 ? service : `${service}-${index + 1}`;
}

/** The entries that run with these settings. The others' addresses are not passed on. */
export function enabledEntries(catalogue: readonly CatalogueEntry[], settings: Readonly<NodeJS.ProcessEnv>): readonly CatalogueEntry[] {
  const isOff = ({ enabledBy }: CatalogueEntry) => enabledBy !== undefined && settings[enabledBy] !== 'true';
  const off = new Set(catalogue.filter(isOff).map(({ name }) => name));
  const running = catalogue.filter(({ name }) => !off.has(name));
  return running.map((entry) => ({ ...entry, needs: entry.needs.filter((service) => !off.has(service)) }));
}
