import { lookup, Resolver } from 'node:dns/promises';
import { withTimeout } from '@agent-service/work';

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
