import { isIP, type LookupFunction } from 'node:net';
import type { IpNetwork } from './ip-network.ts';
import { isReachable } from './judge-address.ts';
import type { Resolve } from './resolve-name.ts';

/** The connection would have led where callers' requests may not go. */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';
}

export class NameNotFound extends Error {
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
