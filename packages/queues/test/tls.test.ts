import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { RunningProcess } from '@agent-service/runtime';
import { freePort, ownRedis, type TestCertificate, testAuthority, until } from '@agent-service/testkit';
import { redisFleet } from '@agent-service/testkit/servers/redis-nodes';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { openRedis, openReplyChannel } from '../src/index.ts';
import { fakeSentinel } from './fake-sentinel.ts';
import { eventually, patient, testProcess } from './support.ts';

const authority = testAuthority();
const trusted = getCACertificates('default');
const stops: (() => unknown)[] = [];
let process: RunningProcess;

beforeAll(() => setDefaultCACertificates([...trusted, authority.cert]));
afterAll(() => setDefaultCACertificates(trusted));
beforeEach(async () => {
  process = await testProcess();
});
afterEach(async () => {
  await process.stop();
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** Speaks TLS in front of a server of this machine. */
async function tlsFront(target: number, host: string, certificate: TestCertificate, port = 0): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer(certificate, (near) => {
    const far = connect(target, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => near.destroy() && far.destroy());
    }
    near.pipe(far).pipe(near);
  }).listen(port, host);
  await once(server, 'listening');
  stops.push(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

const portOf = (url: string) => Number(new URL(url).port);
const localhost = authority.issue({ names: ['localhost'], addresses: [] });
const only = (address: string) => authority.issue({ names: [], addresses: [address] });
const isSubscribed = async (client: Redis, channel: string) => ((await client.pubsub('NUMSUB', channel)) as [string, number])[1] === 1;

async function watchedServers() {
  const servers = [await ownRedis(), await ownRedis()] as const;
  const sentinel = await fakeSentinel(0);
  stops.push(...servers.map(({ stop }) => stop), sentinel.close);
  const url = `rediss://localhost:${await tlsFront(portOf(sentinel.url), '127.0.0.1', localhost)}`;
  return { servers, sentinel, config: { REDIS_URL: url, REDIS_MODE: 'sentinel', REDIS_SENTINEL_MASTER: 'main' } as const };
}

test('a client of sentinels follows to a server whose certificate names another host', async () => {
  const { servers, sentinel, config } = await watchedServers();
  const [first, second] = servers;
  sentinel.promote('127.0.0.1', await tlsFront(portOf(first.url), '127.0.0.1', only('127.0.0.1')));
  const redis = await openRedis(process, config, patient);
  const channel = await openReplyChannel(process, redis, () => undefined);
  await eventually(() => redis.commands.set('at', 'first'));

  sentinel.promote('127.0.0.2', await tlsFront(portOf(second.url), '127.0.0.2', only('127.0.0.2')));
  await first.stop();
  await eventually(() => redis.commands.set('at', 'second'));
  const client = new Redis(second.url);
  stops.push(() => client.disconnect());
  await until('the channel is subscribed there', () => isSubscribed(client, channel.name));
});

test('a server that sentinels name has a certificate for its address or for a host of REDIS_URL', async () => {
  const { servers, sentinel, config } = await watchedServers();
  const [first, second] = servers;
  const other = authority.issue({ names: ['redis.example.com'], addresses: ['127.0.0.3'] });
  sentinel.promote('127.0.0.2', await tlsFront(portOf(first.url), '127.0.0.2', other));
  const redis = await openRedis(process, config, patient);
  const faults: unknown[] = [];
  redis.commands.on('error', (cause: Error) => faults.push('code' in cause ? cause.code : undefined));
  await until('the certificate is refused', async () => faults.includes('ERR_TLS_CERT_ALTNAME_INVALID'));

  sentinel.promote('127.0.0.2', await tlsFront(portOf(second.url), '127.0.0.2', localhost));
  expect(await eventually(() => redis.commands.ping())).toBe('PONG');
});

test.each([
  ['its address', only('127.0.0.2')],
  ['a host of REDIS_URL', localhost],
])('commands and messages reach a node of a cluster whose certificate names %s', async (_, certificate) => {
  const fleet = await redisFleet();
  stops.push(fleet.stop);
  const node = await fleet.start({
    directives: [
      'cluster-enabled yes',
      `cluster-port ${await freePort()}`,
      'cluster-announce-hostname 127.0.0.2',
      'cluster-preferred-endpoint-type hostname',
    ],
  });
  await node.client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  await until('the cluster stands', async () => String(await node.client.call('CLUSTER', 'INFO')).includes('cluster_state:ok'));
  // The node announces its own port, at an address at which it does not listen itself.
  await tlsFront(node.port, '127.0.0.2', certificate, node.port);
  const config = { REDIS_URL: `rediss://localhost:${await tlsFront(node.port, '127.0.0.1', localhost)}`, REDIS_MODE: 'cluster' } as const;
  const redis = await openRedis(process, config, patient);
  expect(await eventually(() => redis.commands.set('a', 'b'))).toBe('OK');
  const channel = await openReplyChannel(process, redis, () => undefined);
  await until('the channel is subscribed', () => isSubscribed(node.client, channel.name));
});
