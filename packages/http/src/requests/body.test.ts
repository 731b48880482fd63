import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { ServiceError } from '@agent-service/contracts';
import { anyCharacter } from '@agent-service/testkit/properties';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { checkJsonShape, readBody, readBytes } from './body.ts';

test('a body that comes too slowly is refused', async () => {
  const server = createServer();
  const outcome = new Promise<ServiceError>((resolve) => {
    server.on('request', (request: IncomingMessage) => {
      readBytes(request, { bytes: 100, withinMs: 50 }).catch((cause: ServiceError) => resolve(cause));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc');
  expect((await outcome).code).toBe('request_timeout');
  socket.destroy();
  server.close();
});

test('a body is given up at once whose sender disconnected before it is read', async () => {
  const server = createServer();
  const outcome = new Promise<ServiceError>((resolve) => {
    server.on('request', (request: IncomingMessage) => {
      request.on('error', () => undefined);
      request.once('close', () => readBytes(request, { bytes: 100, withinMs: 60_000 }).catch((cause: ServiceError) => resolve(cause)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\nabc');
  expect((await outcome).code).toBe('cancelled');
  server.close();
});

test.each([
  ['Transfer-Encoding: chunked', '0\r\n\r\n', 'none'],
  ['Transfer-Encoding: chunked', '2\r\n{}\r\n0\r\n\r\n', 'unsupported_media_type'],
  ['Content-Length: 0', '', 'none'],
  ['Content-Length: 2', '{}', 'unsupported_media_type'],
])('of a request without Content-Type, only a body with bytes is refused: %s, %j', async (header, bytes, expected) => {
  const server = createServer();
  const outcome = new Promise<string>((resolve) => {
    server.on('request', (request: IncomingMessage) => {
      readBody(request, 'json', { bytes: 100, values: 10, withinMs: 60_000 }).then(
        (body) => resolve(body === undefined ? 'none' : 'some'),
        (cause: ServiceError) => resolve(cause.code),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${header}\r\n\r\n${bytes}`);
  expect(await outcome).toBe(expected);
  socket.destroy();
  server.close();
});

const runs = { numRuns: Number(process.env['FC_RUNS'] ?? 300) };

function faultOf(json: string, maxValues = 1_000_000): string | undefined {
  try {
    checkJsonShape(Buffer.from(json), maxValues);
  } catch (cause) {
    return (cause as ServiceError).message;
  }
  return undefined;
}

/** Separators, which are what is counted, and one more. */
function separatorsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value);
  const names = Array.isArray(value) ? 0 : inner.length;
  return names + Math.max(0, inner.length - 1) + inner.reduce<number>((sum, one) => sum + separatorsOf(one), 0);
}

describe('the shape of JSON', () => {
  test('is counted by the characters between its strings, in any spelling', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }), fc.constantFrom(0, 2), (value, spaces) => {
        const json = JSON.stringify(value, undefined, spaces);
        const count = separatorsOf(value) + 1;
        expect([faultOf(json, count), faultOf(json, count - 1) !== undefined]).toEqual([undefined, true]);
      }),
      runs,
    );
  });

  test('is refused where it is nested too deep', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect([faultOf(nested(64)), faultOf(nested(65))]).toEqual([undefined, 'The body is nested deeper than 64 levels.']);
    expect(faultOf('{"a":'.repeat(200_000))).toBe('The body is nested deeper than 64 levels.');
    expect(faultOf(JSON.stringify('[{'.repeat(1_000)))).toBeUndefined();
  });

  test('that is not JSON is counted too, and the parser refuses it', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.string({ unit: fc.constantFrom('"', '\\', '{', ']', ',') })), (text) => {
        expect([undefined, 'The body is nested deeper than 64 levels.']).toContain(faultOf(text));
      }),
      runs,
    );
  });
});
