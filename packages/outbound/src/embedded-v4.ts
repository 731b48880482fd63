import type { IpAddress } from './ip-address.ts';
import { type IpNetwork, isWithin, parseNetwork } from './ip-network.ts';

interface Embedding {
  readonly network: IpNetwork;
  /** Where the four bytes begin. */
  readonly at: number;
  /** Teredo writes them inverted. */
  readonly inverted?: boolean;
}

const embedding = (text: string, at: number, inverted = false): Embedding => ({ network: parseNetwork(text) as IpNetwork, at, inverted });

const embeddings: readonly Embedding[] = [
  // IPv4-mapped, -compatible and -translated; NAT64; 6to4; Teredo.
  embedding('::ffff:0:0/96', 12),
  embedding('::/96', 12),
  embedding('::ffff:0:0:0/96', 12),
  embedding('64:ff9b::/96', 12),
  embedding('2002::/16', 2),
  embedding('2001::/32', 12, true),
];

/** The IPv4 addresses that an IPv6 address may end up at when a translator or tunnel on the way takes it apart. */
export function embeddedV4(address: IpAddress): IpAddress[] {
  if (address.length !== 16) return [];
  const found = embeddings
    .filter(({ network }) => isWithin(address, network))
    .map(({ at, inverted }) => address.slice(at, at + 4).map((byte) => (inverted ? byte ^ 0xff : byte)));
  return isIsatap(address) ? [...found, address.slice(12)] : found;
}

/** An interface identifier of the form 0000:5efe or 0200:5efe before the IPv4 address. */
function isIsatap(address: IpAddress): boolean {
  const [first = 0, second, third, fourth] = address.slice(8, 12);
  return (first & 0xfd) === 0 && second === 0 && third === 0x5e && fourth === 0xfe;
}
