import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type IpNetwork, parseNetwork } from './ip-network.ts';
import { isReachable } from './reachable-address.ts';
import { checkUrl, refusalOfTarget } from './target-url.ts';

type Octets = readonly [number, number, number, number];

const hex = (value: number, digits = 2) => value.toString(16).padStart(digits, '0');
const whole = ([a, b, c, d]: Octets) => ((a * 256 + b) * 256 + c) * 256 + d;
const groups = ([a, b, c, d]: Octets) => `${hex(a)}${hex(b)}:${hex(c)}${hex(d)}`;
const fullWidth = (text: string) => text.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit)));
const inverted = (octets: Octets) => groups(octets.map((octet) => octet ^ 0xff) as unknown as Octets);

/** Every spelling of an IPv4 address as the host of a URL, by name. */
function spellingsOf(octets: Octets): Record<string, string> {
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

const addresses = [
  [127, 0, 0, 1],
  [127, 255, 3, 7],
  [10, 0, 0, 1],
  [169, 254, 169, 254],
  [192, 168, 1, 1],
  [172, 31, 255, 254],
  [100, 64, 0, 1],
  [100, 100, 100, 200],
  [0, 0, 0, 0],
  [255, 255, 255, 255],
  [198, 18, 0, 1],
  [224, 0, 0, 1],
] as const;

const others = [
  'https://[::]/',
  'https://[::1]/',
  'https://[0:0:0:0:0:0:0:1]/',
  'https://[fe80::1]/',
  'https://[fe80::1%25eth0]/',
  'https://[fe80::1%eth0]/',
  'https://[febf::1]/',
  'https://[fec0::1]/',
  'https://[fc00::1]/',
  'https://[fd12:3456::1]/',
  'https://[fd00:ec2::254]/',
  'https://[ff02::1]/',
  'https://[100::1]/',
  'https://[2001:db8::1]/',
  'https://[2001:10::1]/',
  'https://[3fff::1]/',
  'https://[4000::1]/',
  'https://[5f00::1]/',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://localhost./',
  'https://localhost../',
  'https://foo.localhost/',
  'https://l\u00adocalhost/',
  'https://\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54/',
  'https://%6c%6f%63%61%6c%68%6f%73%74/',
  'https://ip6-localhost/',
  'https://localhost.localdomain/',
  'https://metadata/',
  'https://metadata.google.internal/',
  'https://instance-data.ec2.internal/',
  'https://kubernetes.default.svc.cluster.local/',
  'https://printer.local/',
  'https://router.home/',
  'https://host.lan/',
  'https://nas.home.arpa/',
  'https://intranet/',
  'https://redis:6379/',
  'https://example.com../',
  'https://.example.com/',
  'https://example..com/',
  'https://-example.com/',
  'https://user@example.com/',
  'https://user:password@example.com/',
  'https://@example.com/',
  'https://:@example.com/',
  'https://example.com@127.0.0.1/',
  'https://127.0.0.1#@example.com/',
  'https://example.com/#fragment',
  'https://example.com\\@127.0.0.1/',
  'https:\\\\127.0.0.1/',
  'https:/127.0.0.1/',
  'https:127.0.0.1/',
  'https:///127.0.0.1/',
  '//127.0.0.1/',
  'https://',
  'https://?',
  'https://127.1/',
  'https://0/',
  'https://127.0.0.1:443/',
  'https://127.0.0.1:0x1bb/',
  'https://1.2.3.4.5/',
  'https://256.1.1.1/',
  'https://example.com:0/',
  'https://example.com:99999/',
  ' https://example.com/',
  'https://example.com/ ',
  'https://exam\tple.com/',
  'https://exam\nple.com/',
  'https://exam ple.com/',
  'https://exam\0ple.com/',
  'https://example.com/a\x01b',
  'https://example.com/a\x7fb',
  `https://${'a.'.repeat(127)}com/`,
  'http://example.com/',
  'HTTP://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'javascript:alert(1)',
  'data:text/plain,x',
  'wss://example.com/',
  'example.com',
  '',
  `https://example.com/${'x'.repeat(2_048)}`,
  `https://${'a'.repeat(64)}.com/`,
];

const spelled = addresses.flatMap((octets) =>
  Object.entries(spellingsOf(octets)).map(([how, host]) => [`${octets.join('.')}, ${how}`, `https://${host}/hook`] as const),
);

const networks = (...texts: string[]) => texts.map((text) => parseNetwork(text) as IpNetwork);
const nowhere = () => Promise.reject(new Error('no such name'));

test('every spelling of an address that is not on the public internet is refused', () => {
  expect(spelled.length + others.length).toBeGreaterThanOrEqual(150);
  expect(spelled.filter(([, url]) => checkUrl(url, []).ok)).toEqual([]);
});

test('URLs with misleading parts or local names are refused', () => {
  expect(others.filter((url) => checkUrl(url, []).ok)).toEqual([]);
});

test('the platform reads no user, password or fragment in a URL that is accepted', () => {
  const oddParts = [...'@#:/?\\\t\uff20\uff03\ufe6b\ufe5fa.', '%40', '%23', '%2f', '%5c', '\ud800'];
  const parts = fc.array(fc.oneof(fc.constantFrom(...oddParts), fc.string({ unit: 'binary', maxLength: 1 })), { maxLength: 4 });
  let accepted = 0;
  fc.assert(
    fc.property(parts, parts, (before, after) => {
      const text = `https://${before.join('')}example.com${after.join('')}`;
      if (!checkUrl(text, []).ok) return;
      accepted += 1;
      const { protocol, username, password, hash } = new URL(text);
      expect([protocol, username, password, hash]).toEqual(['https:', '', '', '']);
    }),
    { numRuns: 1_000 },
  );
  expect(accepted).toBeGreaterThan(100);
});

test.each([
  'https://example.com',
  'https://example.com/hook?x=1&y=%20',
  'https://example.com.:8443/',
  'https://b\u00fccher.example/',
  'https://xn--bcher-kva.example/',
  'https://hooks.internal.example.com/',
  'https://8.8.8.8/',
  'https://[2606:4700::1111]/',
  'https://[2a00:1450:4001::200e]/',
  'https://a_b.example.com/',
])('%s is accepted', async (url) => {
  expect(await refusalOfTarget(url, [], nowhere)).toBeUndefined();
});

test('addresses of a listed network are accepted in any spelling, and no others', () => {
  const allowed = networks('10.1.0.0/16', '127.0.0.1/32', 'fd00:1::/32');
  for (const host of ['10.1.2.3', '0x0a.1.2.3', '[::ffff:10.1.2.3]', '127.0.0.1', '2130706433', '[fd00:1::5]'])
    expect(checkUrl(`https://${host}/`, allowed)).toMatchObject({ ok: true });
  for (const host of ['10.2.0.1', '127.0.0.2', '192.168.0.1', '[fd00:2::5]', '169.254.169.254'])
    expect(checkUrl(`https://${host}/`, allowed)).toMatchObject({ ok: false });
});

test('metadata and link-local addresses are refused for any list of allowed networks', () => {
  const everything = networks('0.0.0.0/0', '::/0');
  for (const host of [
    '169.254.169.254',
    '[fe80::1]',
    '[fd00:ec2::254]',
    '100.100.100.200',
    '[::ffff:169.254.169.254]',
    '[64:ff9b::169.254.169.254]',
    '0.0.0.0',
    '224.0.0.1',
  ])
    expect(checkUrl(`https://${host}/`, everything)).toMatchObject({ ok: false });
});

test('every network without receivers is refused, also where the operator lists it', () => {
  const everything = networks('0.0.0.0/0', '::/0');
  const addressesWithout = [
    ...['0.1.2.3', '169.254.1.1', '100.100.100.200', '192.0.0.192', '168.63.129.16', '239.1.1.1', '240.0.0.1', '255.255.255.255'],
    ...['::', 'fe80::1', 'fec0::1', 'ff02::1', 'fd00:ec2::254', 'fd20:ce::254'],
    // With a link-local IPv4 address in them.
    ...['fe80::ffff:808:808', 'fec0::ffff:808:808', 'ff02::ffff:808:808'],
    ...['::a9fe:a9fe', '::ffff:0:a9fe:a9fe', '2002:a9fe:a9fe::1', '2001:0:4136:e378:8000:63bf:5601:5601'],
  ];
  expect(addressesWithout.filter((address) => isReachable(address, []) || isReachable(address, everything))).toEqual([]);
  for (const text of ['', 'localhost', '010.0.0.1']) expect(isReachable(text, everything)).toBe(false);
});

test('every network of a special purpose is reachable only where the operator lists it', () => {
  const special = [
    ...['127.0.0.1', '10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '192.0.0.1', '192.0.2.1', '192.88.99.1', '192.31.196.1'],
    ...['192.52.193.1', '192.175.48.1', '198.18.0.1', '198.51.100.1', '203.0.113.1', '::1', 'fc00::1', '2001:2::1', '2001:db8::1'],
    ...['2002:808:808::1', '3fff::1', '2620:4f:8000::1', '64:ff9b:1::808:808'],
    // Not IPv4-mapped, because there are no zeros before ffff.
    ...['fd00:1::ffff:808:808', '2001:db8::ffff:808:808', '3fff::ffff:808:808'],
  ];
  expect(special.filter((address) => isReachable(address, []))).toEqual([]);
  expect(special.filter((address) => !isReachable(address, networks(address)))).toEqual([]);
});

test('a name is checked by all its addresses', async () => {
  const resolvesTo =
    (...addresses: string[]) =>
    () =>
      Promise.resolve(addresses);
  const refused = 'must not lead to a private or reserved address';
  expect(await refusalOfTarget('https://example.com/', [], resolvesTo('93.184.216.34'))).toBeUndefined();
  expect(await refusalOfTarget('https://example.com/', [], resolvesTo('127.0.0.1'))).toBe(refused);
  expect(await refusalOfTarget('https://example.com/', [], resolvesTo('93.184.216.34', '10.0.0.1'))).toBe(refused);
  expect(await refusalOfTarget('https://example.com/', [], resolvesTo('::ffff:7f00:1'))).toBe(refused);
  expect(await refusalOfTarget('https://example.com/', networks('10.0.0.0/8'), resolvesTo('10.0.0.1'))).toBeUndefined();
});

test('a local name is accepted only where it resolves to a listed network', async () => {
  const home = () => Promise.resolve(['127.0.0.1']);
  expect(await refusalOfTarget('https://localhost:9/', networks('127.0.0.0/8'), home)).toBeUndefined();
  expect(await refusalOfTarget('https://localhost:9/', networks('10.0.0.0/8'), home)).toBe(
    'must not lead to a private or reserved address',
  );
  expect(await refusalOfTarget('https://localhost:9/', networks('127.0.0.0/8'), nowhere)).toBe(
    'must not lead to a host of the local network',
  );
});
