import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createResolve, guardedLookup } from './name-lookup.ts';

const [typeA, typeAaaa] = [1, 28];
const addresses: Record<number, Buffer> = {
  [typeA]: Buffer.from([93, 184, 216, 34]),
  [typeAaaa]: Buffer.from([0x26, 0x06, ...Array(14).fill(1)]),
};

let server: Socket;
/** The types of records that the name server answers for; it is silent about the others. */
let answered: readonly number[];

beforeAll(async () => {
  server = createSocket('udp4');
  server.on('message', (query, { port, address }) => {
    const end = query.indexOf(0, 12) + 5;
    const type = query.readUInt16BE(end - 4);
    const data = addresses[type];
    if (data && answered.includes(type)) server.send(answerTo(query.subarray(0, end), type, data), port, address);
  });
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => void server.close());

/** The question with one record, which refers to its name. */
function answerTo(question: Buffer, type: number, data: Buffer): Buffer {
  const header = Buffer.from([...question.subarray(0, 2), 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
  const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length]);
  return Buffer.concat([header, question.subarray(12), record, data]);
}

test.each([
  { silent: 'IPv6', types: [typeA], expected: ['93.184.216.34'] },
  { silent: 'IPv4', types: [typeAaaa], expected: ['2606:101:101:101:101:101:101:101'] },
  { silent: 'nothing', types: [typeA, typeAaaa], expected: ['93.184.216.34', '2606:101:101:101:101:101:101:101'] },
])('a name has the addresses that its name server tells, also if it is silent about $silent', async ({ types, expected }) => {
  answered = types;
  const resolve = createResolve({ local: false, servers: [`127.0.0.1:${(server.address() as AddressInfo).port}`] });
  expect(await resolve('receiver.example')).toEqual(expected);
});

/** The addresses that a socket gets for a name, or the code of the error. */
function lookUp(...resolved: string[]): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  guardedLookup([], async () => resolved)('receiver.example', { all: true }, (error, addressesOfName) =>
    resolve(error?.code ?? addressesOfName),
  );
  return promise;
}

test('a socket gets the addresses of a name only if all of them may be reached', async () => {
  expect(await lookUp('93.184.216.34', '2606:4700::1111')).toEqual([
    { address: '93.184.216.34', family: 4 },
    { address: '2606:4700::1111', family: 6 },
  ]);
  expect(await lookUp('93.184.216.34', '10.0.0.1')).toBe('ADDRESS_REFUSED');
  expect(await lookUp('10.0.0.1', '93.184.216.34')).toBe('ADDRESS_REFUSED');
  expect(await lookUp()).toBe('ENOTFOUND');
});

test('a socket gets eight addresses of each family, so that a name does not make it connect to thousands of hosts', async () => {
  const many = Array.from({ length: 20 }, (_, index) => `93.184.216.${index}`);
  const targets = await lookUp(...many, '2606:4700::1111');
  expect(targets).toEqual([...many.slice(0, 8), '2606:4700::1111'].map((address) => ({ address, family: address.includes(':') ? 6 : 4 })));
  expect(await lookUp(...many, '10.0.0.1')).toBe('ADDRESS_REFUSED');
});
