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
