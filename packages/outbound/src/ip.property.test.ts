import { BlockList, isIP } from 'node:net';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type IpNetwork, isWithin, networksSetting, parseIp, parseNetwork } from './ip-network.ts';

const text = fc.oneof(fc.ipV4(), fc.ipV6(), fc.ipV4Extended(), fc.string({ maxLength: 20 }), fc.stringMatching(/^[0-9a-f:.]{0,40}$/));
const kinds = { 4: 'ipv4', 6: 'ipv6' } as const;

test('a text is parsed as an address exactly when the platform does so', () => {
  fc.assert(
    fc.property(text, (candidate) => {
      const read = parseIp(candidate);
      expect(read?.length ?? 0).toBe({ 0: 0, 4: 4, 6: 16 }[isIP(candidate) as 0 | 4 | 6]);
    }),
    { numRuns: 2_000 },
  );
});

test('a double colon stands for one group at least', () => {
  expect(parseIp('1:2:3:4:5:6:7::')).toHaveLength(16);
  for (const wrong of ['1:2:3:4:5:6:7:8::', '1:2:3:4::5:6:7:8', '1::2:3:4:5:6:7:8:9', '1:2:3:4:5:6:7'])
    expect(parseIp(wrong)).toBeUndefined();
});

test('a byte is at most 255, and only the end of an IPv6 address is written as an IPv4 address', () => {
  for (const wrong of ['1.2.3.256', '256.0.0.1', '1.2.3.4::', '1.2.3.4::1', '::1.2.3.4:5']) expect(parseIp(wrong)).toBeUndefined();
  expect(parseIp('::1.2.3.255')?.slice(12)).toEqual([1, 2, 3, 255]);
});

test('an IPv4 address is in no IPv6 network', () => {
  expect(isWithin([10, 0, 0, 1], parseNetwork('a00::/8') as IpNetwork)).toBe(false);
  expect(isWithin(parseIp('a00::1') as number[], parseNetwork('10.0.0.0/8') as IpNetwork)).toBe(false);
});

test('a setting with a text that is no network is refused', () => {
  expect(networksSetting().parse('10.0.0.0/8, fd00::/8')).toHaveLength(2);
  expect(
    networksSetting()
      .safeParse('10.0.0.0/8 10.0.0.1/8')
      .error?.issues.map(({ message }) => message),
  ).toEqual(['"10.0.0.1/8" is no network like 10.0.0.0/8 or fd00::/8']);
});

test('a network contains the same addresses as in the platform', () => {
  const pair = fc.oneof(
    fc.tuple(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 })),
    fc.tuple(fc.ipV6(), fc.ipV6(), fc.integer({ min: 0, max: 128 })),
  );
  fc.assert(
    fc.property(pair, fc.boolean(), ([base, other, bits], same) => {
      const candidate = same ? base : other;
      const address = parseIp(base) as number[];
      const masked = address.map((byte, index) => byte & ((0xff << (8 - Math.min(8, Math.max(0, bits - index * 8)))) & 0xff));
      const list = new BlockList();
      list.addSubnet(base, bits, kinds[isIP(base) as 4 | 6]);
      expect(isWithin(parseIp(candidate) as number[], { address: masked, bits })).toBe(
        list.check(candidate, kinds[isIP(candidate) as 4 | 6]),
      );
    }),
    { numRuns: 2_000 },
  );
});

test('a network with bits beyond its length, or with a length above the maximum, is not parsed', () => {
  for (const wrong of ['10.0.0.1/8', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/08x', '010.0.0.0/8', 'fe80::%eth0/10', ''])
    expect(parseNetwork(wrong)).toBeUndefined();
  expect(parseNetwork('192.168.1.1')).toEqual({ address: [192, 168, 1, 1], bits: 32 });
});
