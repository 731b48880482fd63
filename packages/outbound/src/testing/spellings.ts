type Octets = readonly [number, number, number, number];

const hex = (value: number, digits = 2) => value.toString(16).padStart(digits, '0');
const whole = ([a, b, c, d]: Octets) => ((a * 256 + b) * 256 + c) * 256 + d;
const groups = ([a, b, c, d]: Octets) => `${hex(a)}${hex(b)}:${hex(c)}${hex(d)}`;
const fullWidth = (text: string) => text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)));
const inverted = (octets: Octets) => groups(octets.map((octet) => octet ^ 0xff) as unknown as Octets);

/** Every way in which the host of a URL can say an IPv4 address, by name. */
export function spellingsOf(octets: Octets): Record<string, string> {
  const [a, b, c, d] = octets;
  const dotted = octets.join('.');
  return {
    dotted,
    'trailing dot': `${dotted}.`,
    octal: octets.map((octet) => `0${octet.toString(8)}`).join('.'),
    'octal with many zeros': octets.map((octet) => `0000${octet.toString(8)}`).join('.'),
    hexadecimal: octets.map((octet) => `0x${hex(octet)}`).join('.'),
    'hexadecimal in capitals': octets.map((octet) => `0X${hex(octet).toUpperCase()}`).join('.'),
    'mixed bases': `0x${hex(a)}.0${b.toString(8)}.${c}.0x${hex(d)}`,
    'one decimal number': String(whole(octets)),
    'one hexadecimal number': `0x${hex(whole(octets), 8)}`,
    'one octal number': `0${whole(octets).toString(8)}`,
    'two parts': `${a}.${(b * 256 + c) * 256 + d}`,
    'three parts': `${a}.${b}.${c * 256 + d}`,
    'full-width digits': fullWidth(dotted),
    'ideographic dots': dotted.replaceAll('.', '\u3002'),
    'full-width dots': dotted.replaceAll('.', '\uff0e'),
    'percent-encoded': [...dotted].map((character) => `%${hex(character.charCodeAt(0))}`).join(''),
    'IPv4-mapped': `[::ffff:${dotted}]`,
    'IPv4-mapped in hexadecimal': `[::ffff:${groups(octets)}]`,
    'IPv4-mapped, written out': `[0:0:0:0:0:ffff:${groups(octets)}]`,
    'IPv4-compatible': `[::${dotted}]`,
    'IPv4-translated': `[::ffff:0:${groups(octets)}]`,
    NAT64: `[64:ff9b::${dotted}]`,
    'local NAT64': `[64:ff9b:1::${groups(octets)}]`,
    '6to4': `[2002:${groups(octets)}::1]`,
    Teredo: `[2001:0:4136:e378:8000:63bf:${inverted(octets)}]`,
    ISATAP: `[2400:cb00::5efe:${groups(octets)}]`,
    'ISATAP with the global bit': `[2400:cb00::200:5efe:${groups(octets)}]`,
  };
}
