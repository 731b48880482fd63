import { z } from 'zod';

/** An address as 4 or 16 bytes. */
export type IpAddress = readonly number[];

/**
 * Reads an address in its usual spelling only: four decimal numbers without leading zeros, or the forms of RFC 4291. Other
 * spellings (octal, hexadecimal, fewer parts) are undefined, and so is an address with a zone.
 */
export function parseIp(text: string): IpAddress | undefined {
  return text.includes(':') ? parseV6(text) : parseV4(text);
}

function parseV4(text: string): IpAddress | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part))) return undefined;
  const bytes = parts.map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function parseV6(text: string): IpAddress | undefined {
  const parts = text.split('::');
  if (parts.length > 2) return undefined;
  const [head, tail] = [groupBytes(parts[0] ?? '', parts.length === 1), parts.length === 2 ? groupBytes(parts[1] ?? '', true) : []];
  if (!head || !tail) return undefined;
  const missing = 16 - head.length - tail.length;
  if (parts.length === 1 ? missing !== 0 : missing < 2) return undefined;
  return [...head, ...new Array<number>(missing).fill(0), ...tail];
}

/** Groups of hexadecimal digits. The last group of an address may be an IPv4 address. */
function groupBytes(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === '') return [];
  const groups = text.split(':');
  const bytes: number[] = [];
  for (const [index, group] of groups.entries()) {
    const last = index === groups.length - 1;
    const read = last && mayEndInV4 && group.includes('.') ? parseV4(group) : groupOf(group);
    if (!read) return undefined;
    bytes.push(...read);
  }
  return bytes;
}

function groupOf(group: string): number[] | undefined {
  if (!/^[0-9a-f]{1,4}$/i.test(group)) return undefined;
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 255];
}

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

/** The bits of this byte that a prefix of this length covers. */
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
  /** The position of the four bytes. */
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

/** The IPv4 addresses that a translator or tunnel may derive from an IPv6 address. */
export function embeddedV4(address: IpAddress): IpAddress[] {
  if (address.length !== 16 || isLoopback(address)) return [];
  const embedded = embeddings
    .filter(({ network }) => isWithin(address, network))
    .map(({ at, inverted }) => address.slice(at, at + 4).map((byte) => (inverted ? byte ^ 0xff : byte)));
  return isIsatap(address) ? [...embedded, address.slice(12)] : embedded;
}

/** `::1`, which is in the network of IPv4-compatible addresses and is none of them. */
const isLoopback = (address: IpAddress): boolean => address.every((byte, index) => byte === (index === 15 ? 1 : 0));

/** An interface identifier of the form 0000:5efe or 0200:5efe before the IPv4 address. */
function isIsatap(address: IpAddress): boolean {
  const [first = 0, second, third, fourth] = address.slice(8, 12);
  return (first & 0xfd) === 0 && second === 0 && third === 0x5e && fourth === 0xfe;
}
