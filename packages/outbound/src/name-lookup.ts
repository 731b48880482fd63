import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { withTimeout } from '@agent-service/work';
import type { IpNetwork } from './ip-network.ts';
import { isReachable } from './reachable-address.ts';

const limitMs = 4_000;
/** How long the addresses of one family wait for those of the other. */
const otherFamilyMs = 500;
/** A socket connects to the addresses of a name one after the other, until one accepts. */
const maxOfFamily = 8;

export type Resolve = (name: string) => Promise<readonly string[]>;

interface ResolveOptions {
  local: boolean;
  /** Instead of the system's name servers. */
  servers?: readonly string[];
}

/**
 * Every address of a name, from the name servers: the system's resolver would block one of its few threads for each slow name. With
 * `local` the system's resolver is the fallback.
 */
export function createResolve({ local, servers }: ResolveOptions): Resolve {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 });
  if (servers) resolver.setServers(servers);
  /** Some name servers never answer for one of the families. Only the addresses that are returned are judged and connected to. */
  async function fromServers(name: string): Promise<string[]> {
    const byFamily: string[][] = [[], []];
    const families = [resolver.resolve4(name), resolver.resolve6(name)].map(async (lookup, family) => {
      byFamily[family] = await lookup;
    });
    const all = Promise.allSettled(families);
    await Promise.any(families).catch(() => undefined);
    await withTimeout(all, otherFamilyMs, () => new Error('the name servers did not answer for one family')).catch(() => undefined);
    return byFamily.flat();
  }

  async function resolve(name: string): Promise<string[]> {
    const addresses = await fromServers(name);
    if (addresses.length > 0 || !local) return addresses;
    return (await lookup(name, { all: true }).catch(() => [])).map(({ address }) => address);
  }

  return (name) => withTimeout(resolve(name), limitMs, () => new Error('the name servers took too long'));
}

/** The name resolves to an address that callers' requests may not reach. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
}

class NameNotFound extends Error {
  override name = 'NameNotFound';
  readonly code = 'ENOTFOUND';
}

/**
 * The look-up function of sockets. A name with at least one forbidden address is refused. The socket connects to the returned address,
 * so that no second look-up can return another address.
 */
export function guardedLookup(allowed: readonly IpNetwork[], resolve: Resolve): LookupFunction {
  async function find(name: string): Promise<{ address: string; family: number }[]> {
    const addresses = await resolve(name);
    if (addresses.length === 0) throw new NameNotFound(`${name} has no address`);
    if (!addresses.every((address) => isReachable(address, allowed)))
      throw new AddressRefused(`${name} resolves to a private or reserved address`);
    const targets = addresses.map((address) => ({ address, family: isIP(address) }));
    const families = new Set(targets.map(({ family }) => family));
    return [...families].flatMap((each) => targets.filter(({ family }) => family === each).slice(0, maxOfFamily));
  }

  return (name, { all }, callback) => {
    find(name).then(
      (addresses) => {
        const [first] = addresses as [{ address: string; family: number }];
        if (all) callback(null, addresses);
        else callback(null, first.address, first.family);
      },
      (cause: Error) => callback(cause, ''),
    );
  };
}
