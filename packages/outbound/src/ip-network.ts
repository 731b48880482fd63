import { z } from 'zod';
import { type IpAddress, parseIp } from './ip-address.ts';

/** A block of addresses: those that share its first bits. */
export interface IpNetwork {
  readonly address: IpAddress;
  readonly bits: number;
}

/** `10.0.0.0/8`, `fd00::/8`, or one address. Undefined for anything else, also where bits beyond the length are set. */
export function parseNetwork(text: string): IpNetwork | undefined {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const bytes = parseIp(address);
  if (!bytes) return undefined;
  const bits = length === undefined ? bytes.length * 8 : Number(length);
  if (bits > bytes.length * 8) return undefined;
  const beyond = bytes.some((byte, index) => (byte & ~maskOf(bits, index)) !== 0);
  return beyond ? undefined : { address: bytes, bits };
}

export function isWithin(address: IpAddress, network: IpNetwork): boolean {
  if (address.length !== network.address.length) return false;
  return address.every((byte, index) => (byte & maskOf(network.bits, index)) === network.address[index]);
}

/** Which bits of this byte a prefix of so many bits covers. */
function maskOf(bits: number, index: number): number {
  const covered = Math.min(8, Math.max(0, bits - index * 8));
  return (0xff << (8 - covered)) & 0xff;
}

/** A list of networks in CIDR notation, separated by commas or spaces; none by default. */
export const networksSetting = () =>
  z
    .string()
    .default('')
    .transform((value, context): readonly IpNetwork[] => {
      const texts = value.split(/[\s,]+/).filter(Boolean);
      const read = texts.map((text) => ({ text, network: parseNetwork(text) }));
      for (const { text, network } of read) {
        if (!network) context.addIssue(`"${text}" is no network like 10.0.0.0/8 or fd00::/8`);
      }
      return read.flatMap(({ network }) => network ?? []);
    });

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
