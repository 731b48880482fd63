import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { machineEnvironment, mainFileOf, sharedSystem } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

let system: Awaited<ReturnType<typeof sharedSystem>>;
let busy: Server;
const keys: unknown[] = [];

/** The gateway behind a proxy that answers the first request with 503. */
beforeAll(async () => {
  system = await sharedSystem();
  busy = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const body = await buffer(request);
    keys.push(headers['idempotency-key']);
    if (keys.length === 1) return void response.writeHead(503).end('{"error":{"code":"unavailable"}}');
    const { authorization = '', 'idempotency-key': key } = headers;
    const passedOn = { authorization, 'content-type': 'application/json', 'idempotency-key': String(key) };
    const answer = await fetch(system.url + url, { method, headers: passedOn, ...(body.length > 0 && { body }) });
    response.writeHead(answer.status).end(await answer.text());
  }).listen(0, '127.0.0.1');
  await once(busy, 'listening');
}, 120_000);
afterAll(() => {
  busy?.close();
  system?.leave();
});

test('the smoke test of an installation repeats a request that met a 503, under its Idempotency-Key', async () => {
  const env = {
    ...machineEnvironment,
    SERVICE_SECRET: system.secrets.SERVICE_SECRET,
    IDENTITY_ADDRESS: system.endpoints['identity'] ?? '',
    GATEWAY_URL: `http://127.0.0.1:${(busy.address() as AddressInfo).port}`,
  };
  const program = mainFileOf('smoke-test', 'packages/local/src/deployment/smoke-test.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env });
  expect(stdout).toMatch(/^message msg_\w+ was answered and settled for \d+ credits/);
  expect(keys[1]).toBe(keys[0]);
  expect(new Set(keys).size).toBe(keys.length - 1);
});
