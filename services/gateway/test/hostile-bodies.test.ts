import { once } from 'node:events';
import { connect } from 'node:net';
import { testRedis } from '@agent-service/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { expectError } from './support/envelope.ts';
import { admit, apiKey, caller, type Gateway, startGateway } from './support/gateway.ts';
import { type Answer, ask, sendRaw } from './support/http.ts';
import { type Peer, startPeer } from './support/peer.ts';

const token = apiKey('a');
let peer: Peer;
let gateway: Gateway;

beforeAll(async () => {
  peer = await startPeer();
  admit(peer, { [token]: caller('a') });
  const unlimited = Object.fromEntries(['WRITES', 'MESSAGES', 'TOKENS'].map((what) => [`RATE_LIMIT_${what}_PER_MINUTE`, '1000000']));
  gateway = await startGateway(peer, (await testRedis()).url, unlimited);
});
afterAll(async () => {
  await gateway.stop();
  await peer.stop();
});
afterEach(() => {
  jest.restoreAllMocks();
});

const times = (count: number, write: (index: number) => string) => Array.from({ length: count }, (_, index) => write(index)).join(',');
const shapes: Record<string, string> = {
  '70,000 keys': `{${times(70_000, (index) => `"k${index}":1`)}}`,
  'nesting without end': '{"a":['.repeat(80_000),
  'a list of 200,000': `{"name":[${times(200_000, () => '1')}]}`,
  '10,000 times the same key': `{${times(10_000, () => '"name":1')}}`,
  'long unknown numbers': `{${times(2_000, () => `"n":${'9'.repeat(300)}`)}}`,
};
/** Below the limit of the agent routes, so that it is parsed. */
const parsed: Record<string, string> = {
  'one text of nothing but escapes': `{"name":"${'\\u0041'.repeat(160_000)}"}`,
  '400 unknown keys': `{${times(400, (index) => `"${'k'.repeat(200)}${index}":1`)}}`,
  'a number of 900,000 digits': `{"name":${'9'.repeat(900_000)}}`,
};
const targets: [method: string, path: string][] = [
  ['POST', '/v1/agents'],
  ['POST', '/v1/agents/agt_1/messages'],
  ['POST', '/v1/users'],
  ['POST', '/v1/auth/token'],
  ['POST', '/v1/auth/oauth/token'],
];

const send = ([method, path]: [string, string], body: string): Promise<Answer> =>
  ask(gateway.url, path, {
    method,
    token,
    body,
    headers: { 'content-type': path.includes('oauth') ? 'application/x-www-form-urlencoded' : 'application/json' },
  });

/** The longest text that this process parses during the test; the answers that the test reads are short. */
async function longestParsed(work: () => Promise<unknown>): Promise<number> {
  const parse = jest.spyOn(JSON, 'parse');
  await work();
  return Math.max(0, ...parse.mock.calls.map(([text]) => String(text).length));
}

describe('a hostile body', () => {
  test.each(Object.keys(shapes))('of %s is refused by every route, and no parser sees it', async (name) => {
    for (const target of targets) {
      const longest = await longestParsed(async () => {
        const answer = await send(target, shapes[name] ?? '');
        expect([400, 413]).toContain(answer.status);
        expect(answer.text.length).toBeLessThan(8_192);
      });
      expect(longest).toBeLessThan(8_192);
    }
  });

  test('costs little processor time in every shape and on every route', async () => {
    const boundMs = 60;
    const requests = 4;
    const enough = (groups: number, least: number) => groups >= 3 && (least <= boundMs || groups >= 20);
    const costs: Record<string, number> = {};
    for (const [name, body] of Object.entries({ ...shapes, ...parsed }))
      for (const target of targets) {
        await send(target, body);
        // A busy machine and a garbage collection add to a group now and then: the cheapest one shows what the requests need.
        let least = Number.POSITIVE_INFINITY;
        for (let groups = 0; !enough(groups, least); groups += 1) {
          const before = process.cpuUsage();
          for (let index = 0; index < requests; index += 1) await send(target, body);
          const { user, system } = process.cpuUsage(before);
          least = Math.min(least, (user + system) / 1_000 / requests);
        }
        costs[`${name} -> ${target[1]}`] = least;
      }
    // This includes the cost of sending it, in the same process.
    expect(Object.entries(costs).filter(([, milliseconds]) => milliseconds > boundMs)).toEqual([]);
  });

  test('of a tenth of the size limit is refused for the number of its values', async () => {
    const context = (values: number) => `{"message":"Hi","context":{"list":[${times(values, () => '1')}]}}`;
    expect((await send(['POST', '/v1/agents/agt_1/messages'], context(7_000))).status).toBe(200);
    expectError(await send(['POST', '/v1/agents/agt_1/messages'], context(12_000)), 400, 'invalid_request');
  });

  test('with __proto__ changes nothing', async () => {
    const body = '{"message":"Hi","__proto__":{"conversation_id":"conv_9"}}';
    const answer = await send(['POST', '/v1/agents/agt_1/messages'], body);
    expectError(answer, 400, 'invalid_request');
    expect(answer.body.error.param).toBe('__proto__');
    expect(({} as Record<string, unknown>)['conversation_id']).toBeUndefined();
    const inner = await send(['POST', '/v1/agents/agt_1/messages'], '{"message":"Hi","context":{"page":{"__proto__":{"a":1}}}}');
    expectError(inner, 400, 'invalid_request');
    expect(inner.body.error.param).toBe('context.page.__proto__');
  });
});

describe('a body that is refused before it is read', () => {
  const head = (path: string, length: string, more = '') =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${more}${length}\r\n\r\n`;
  const mebibyte = 1024 * 1024;

  const refused: Record<string, [request: string, status: number]> = {
    'without a credential': [head('/v1/agents', `Content-Length: ${mebibyte}`), 401],
    'larger than the route takes': [head('/v1/auth/token', 'Content-Length: 9000000'), 413],
    'of a length that is not announced': [head('/v1/agents', 'Transfer-Encoding: chunked'), 401],
    'on an unknown path': [head('/v1/nothing', `Content-Length: ${mebibyte}`), 404],
  };

  // All at the same time: each connection ends two seconds after its answer.
  test('is answered at once, and its connection ends', async () => {
    const answers = await Promise.all(
      Object.entries(refused).map(async ([name, [request]]) => [name, await sendRaw(gateway.port, request)] as const),
    );
    for (const [name, raw] of answers) {
      expect([name, raw.slice(0, 12)]).toEqual([name, `HTTP/1.1 ${refused[name]?.[1]}`]);
      expect(raw.toLowerCase()).toContain('\r\nconnection: close\r\n');
    }
  });

  test('is answered although its sender continues to send', async () => {
    const socket = connect(gateway.port, '127.0.0.1');
    const failed: unknown[] = [];
    socket.on('error', (cause) => failed.push(cause));
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.write(head('/v1/agents', `Content-Length: ${4 * mebibyte}`));
    await once(socket, 'data');
    socket.end('x'.repeat(4 * mebibyte));
    await once(socket, 'close');
    expect([received.slice(0, 12), failed]).toEqual(['HTTP/1.1 401', []]);
  });

  test('leaves the connection open for the next request if it is short', async () => {
    const socket = connect(gateway.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    for (let round = 0; round < 3; round += 1) {
      const before = received.length;
      socket.write(`${head('/v1/users', 'Content-Length: 20')}{"name":"1234567890"`);
      while (received.length === before) await once(socket, 'data');
    }
    socket.destroy();
    expect(received.match(/HTTP\/1.1 401/g)).toHaveLength(3);
    expect(received.toLowerCase()).not.toContain('connection: close');
  });
});
