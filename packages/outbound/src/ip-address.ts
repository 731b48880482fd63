/** An address as its bytes: 4 of them or 16. */
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

/** Groups of hexadecimal digits; the last may be an IPv4 address where nothing follows it. */
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
