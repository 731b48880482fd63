import { embeddedV4, type IpAddress, type IpNetwork, isWithin, parseIp, parseNetwork } from './ip-network.ts';

const among = (address: IpAddress, networks: readonly IpNetwork[]) => networks.some((network) => isWithin(address, network));

/** True if a caller's request may connect to this address. Unreadable addresses are refused. */
export function isReachable(text: string, allowed: readonly IpNetwork[]): boolean {
  const address = parseIp(text);
  return address !== undefined && isAllowed(address, allowed);
}

function isAllowed(address: IpAddress, allowed: readonly IpNetwork[]): boolean {
  const inner = embeddedV4(address);
  // Treat an IPv4-mapped IPv6 address as its IPv4 address, in the operator's list as well.
  if (isMapped(address)) return inner.every((each) => isAllowed(each, allowed));
  if (among(address, forbidden) || inner.some((each) => among(each, forbidden))) return false;
  if (among(address, allowed)) return true;
  if (address.length === 16 && !among(address, publicV6)) return false;
  return !among(address, internal) && inner.every((each) => isAllowed(each, allowed));
}

const isMapped = (address: IpAddress) => address.length === 16 && address.slice(0, 10).every((byte) => byte === 0) && isFull(address);
const isFull = (address: IpAddress) => address[10] === 0xff && address[11] === 0xff;

function networks(...texts: string[]): readonly IpNetwork[] {
  return texts.map((text) => {
    const network = parseNetwork(text);
    if (!network) throw new Error(`${text} is not a network`);
    return network;
  });
}

/** Never reachable, also when the operator lists them: no receiver runs there, and clouds serve credentials there. */
const forbidden = networks(
  '0.0.0.0/8',
  // Link-local, and the metadata services of most clouds.
  '169.254.0.0/16',
  // Metadata of Alibaba, and of Oracle before its link-local one.
  '100.100.100.200/32',
  '192.0.0.192/32',
  // The host agent of Azure.
  '168.63.129.16/32',
  // Multicast, reserved, broadcast.
  '224.0.0.0/4',
  '240.0.0.0/4',
  '::/128',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  // Metadata of Amazon over IPv6.
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
);

/** Internal networks, reachable only if the operator lists them. From the registries of special-purpose addresses. */
const internal = networks(
  '127.0.0.0/8',
  '::1/128',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  'fc00::/7',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  // Protocol assignments (Teredo, benchmarking, ORCHID), documentation, 6to4, local translation.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '2620:4f:8000::/48',
  '64:ff9b:1::/48',
);

/** The part of IPv6 that is assigned for public use. */
const publicV6 = networks('2000::/3');
