import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { withTimeout } from '@agent-service/work';
import type { IpNetwork } from './ip-network.ts';
import { isReachable } from './reachable-address.ts';

const limitMs = 4_000;

export type Resolve = (name: string) => Promise<readonly string[]>;

/**
 * Every address of a name, from the name servers themselves: the system's own resolver would keep one of a few threads busy
 * for each name that somebody has made slow. Only where `local` names count is that one asked as well.
 */
export function createResolve({ local }: { local: boolean }): Resolve {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 });

  async function fromServers(name: string): Promise<string[]> {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    return found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
  }

  async function resolve(name: string): Promise<string[]> {
    const addresses = await fromServers(name);
    if (addresses.length > 0 || !local) return addresses;
    return (await lookup(name, { all: true }).catch(() => [])).map(({ address }) => address);
  }

  return (name) => withTimeout(resolve(name), limitMs, () => new Error('the name servers took too long'));
}

/** The connection would have led where callers' requests may not go. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
}

class NameNotFound extends Error {
  override name = 'NameNotFound';
  readonly code = 'ENOTFOUND';
}

/**
 * What a socket asks for the addresses of a name. A name with a single address that may not be reached is refused as a
 * whole, and what this hands over is connected to as it is: there is no second look-up that could say something else.
 */
export function guardedLookup(allowed: readonly IpNetwork[], resolve: Resolve): LookupFunction {
  async function find(name: string): Promise<{ address: string; family: number }[]> {
    const addresses = await resolve(name);
    if (addresses.length === 0) throw new NameNotFound(`${name} has no address`);
    if (!addresses.every((address) => isReachable(address, allowed)))
      throw new AddressRefused(`${name} leads to a private or reserved address`);
    return addresses.map((address) => ({ address, family: isIP(address) }));
  }

  return (name, { all }, callback) => {
    find(name).then(
      (found) => {
        const [first] = found as [{ address: string; family: number }];
        if (all) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (cause: Error) => callback(cause, ''),
    );
  };
}
