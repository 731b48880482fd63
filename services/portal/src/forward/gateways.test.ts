import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { until } from '@agent-service/testkit';
import { afterEach, expect, test } from '@jest/globals';
import { Gateways } from './gateways.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function gateway(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_, response) => answer(response));
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a gateway that is frozen gets no requests until it answers again', async () => {
  let isFrozen = true;
  const answerAs = (name: string) => (response: ServerResponse) => void response.end(name);
  const urls = await Promise.all([
    gateway(answerAs('steady')),
    gateway((response) => {
      if (!isFrozen) answerAs('other')(response);
    }),
  ]);
  const gateways = new Gateways(urls, { connections: 10 });
  try {
    const ask = async () => {
      const { body } = await gateways.request({ path: '/', method: 'GET', signal: AbortSignal.timeout(1_000) });
      return await body.text();
    };
    const askInTurn = async () => [await ask().catch(() => 'none'), await ask().catch(() => 'none')].sort();
    expect(await askInTurn()).toEqual(['none', 'steady']);
    await until(async () => String(await askInTurn()) === 'steady,steady');
    isFrozen = false;
    await until(async () => String(await askInTurn()) === 'other,steady');
  } finally {
    await gateways.destroy();
  }
});
