import type { IpNetwork } from './ip-network.ts';
import { isReachable } from './judge-address.ts';
import { judgeUrl } from './judge-url.ts';
import type { Resolve } from './resolve-name.ts';

/**
 * Why requests may not be sent to this URL, or undefined. A name that leads nowhere now is let through unless it is of the
 * kind that only a listed network can answer: the connection itself is judged again, each time.
 */
export async function refusalOfTarget(text: string, allowed: readonly IpNetwork[], resolve: Resolve): Promise<string | undefined> {
  const verdict = judgeUrl(text, allowed);
  if (!verdict.ok) return verdict.reason;
  if (verdict.name === '') return undefined;
  const addresses = await resolve(verdict.name).catch(() => []);
  if (verdict.local && addresses.length === 0) return 'must not lead to a host of the local network';
  return addresses.every((address) => isReachable(address, allowed)) ? undefined : 'must not lead to a private or reserved address';
}
