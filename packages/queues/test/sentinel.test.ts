import { ownRedis, until } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { openRedis, openReplyChannel } from '../src/index.ts';
import { fakeSentinel } from './fake-sentinel.ts';
import { eventually, patient, testProcess } from './support.ts';

test('a failover that is announced while a client looks for the primary does not end the client', async () => {
  const server = await ownRedis();
  const sentinel = await fakeSentinel(Number(new URL(server.url).port));
  const process = await testProcess();
  const config = { REDIS_URL: sentinel.url, REDIS_MODE: 'sentinel', REDIS_SENTINEL_MASTER: 'main' } as const;
  const redis = await openRedis(process, config, patient);
  const direct = new Redis(server.url);
  expect(await eventually(() => redis.commands.ping())).toBe('PONG');
  await until('the client listens for failovers', async () => sentinel.listening === 1);

  const release = sentinel.holdAnswers();
  await direct.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  await until('the client asks where the primary is', async () => sentinel.waiting === 1);
  sentinel.announceFailover();
  // A round trip later the client has read the announcement, which came on another connection.
  await direct.ping();
  release();

  expect(await eventually(() => redis.commands.ping())).toBe('PONG');
  await process.stop();
  direct.disconnect();
  sentinel.close();
  await server.stop();
});

test('a channel whose connection is lost again and again listens for failovers on one connection', async () => {
  const server = await ownRedis();
  const sentinel = await fakeSentinel(Number(new URL(server.url).port));
  const process = await testProcess();
  const config = { REDIS_URL: sentinel.url, REDIS_MODE: 'sentinel', REDIS_SENTINEL_MASTER: 'main' } as const;
  const redis = await openRedis(process, config, patient);
  const channel = await openReplyChannel(process, redis, () => undefined);
  const direct = new Redis(server.url);
  const subscribed = async () => ((await direct.pubsub('NUMSUB', channel.name)) as [string, number])[1] === 1;
  for (let loss = 0; loss < 3; loss += 1) {
    await until('the channel is subscribed', subscribed);
    await direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await until('the connection is lost', async () => !(await subscribed()));
  }
  await until('the channel is subscribed', subscribed);
  // One is of the connection for commands.
  await until('only the present connections listen for failovers', async () => sentinel.listening === 2);
  await process.stop();
  await until('none listens for failovers', async () => sentinel.listening === 0);
  direct.disconnect();
  sentinel.close();
  await server.stop();
});
