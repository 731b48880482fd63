import { BlockList, isIP } from 'node:net';
import { parseIp } from '@agent-service/outbound/ip-network';

/** Parses the proxies whose X-Forwarded-For is trusted: addresses (`10.0.0.1`) and networks (`10.0.0.0/8`). */
export function parseTrustedProxies(entries: readonly string[]): BlockList {
  const trusted = new BlockList();
  for (const entry of entries) addEntry(trusted, entry);
  return trusted;
}

function addEntry(trusted: BlockList, entry: string): void {
  const [address = '', bits, ...rest] = entry.split('/');
  const version = isIP(address);
  const longest = version === 6 ? 128 : 32;
  const wellFormed = version !== 0 && rest.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest));
  if (!wellFormed) throw new RangeError(`${entry} is neither an address nor a network like 10.0.0.0/8`);
  trusted.addSubnet(address, bits === undefined ? longest : Number(bits), family(address));
}

const family = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** True if X-Forwarded-For of this peer is trusted. */
export function isTrustedProxy(peer: string, trusted: BlockList): boolean {
  const address = plain(peer);
  return isIP(address) !== 0 && trusted.check(address, family(address));
}

/** More proxies than any request passes. */
const maxHops = 32;

/** The peer's address, or, behind trusted proxies, the last one in X-Forwarded-For that is not theirs. */
export function clientAddress(peer: string, forwardedFor: string | undefined, trusted: BlockList): string {
  let address = plain(peer);
  const hops = forwardedFor?.split(',').slice(-maxHops) ?? [];
  while (isTrustedProxy(address, trusted)) {
    const hop = plain(withoutPort(hops.pop()?.trim() ?? ''));
    if (isIP(hop) === 0) return address;
    address = hop;
  }
  return address;
}

const addressAndPort = /^(?:([\d.]+):\d{1,5}|\[([^\]]+)\](?::\d{1,5})?)$/;

/** Some proxies add the port of their peer; an address of IPv6 stands in brackets then. */
function withoutPort(hop: string): string {
  const [, v4, v6] = addressAndPort.exec(hop) ?? [];
  return v4 ?? v6 ?? hop;
}

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

/** An IPv4-mapped IPv6 address counts as its IPv4 address, however it is spelled. */
function plain(address: string): string {
  if (!address.includes(':')) return address;
  const bytes = parseIp(withoutZone(address));
  return bytes && mappedPrefix.every((byte, index) => bytes[index] === byte) ? bytes.slice(mappedPrefix.length).join('.') : address;
}

const withoutZone = (address: string) => address.replace(/%.*$/, '');

const subscriberBytes = 8;

/** The key that limits count an address under: an IPv6 subscriber has a whole /64 of them. */
export function countedAddress(address: string): string {
  const bytes = address.includes(':') ? parseIp(withoutZone(address)) : undefined;
  return bytes ? `${Buffer.from(bytes.slice(0, subscriberBytes)).toString('hex')}/64` : address;
}
