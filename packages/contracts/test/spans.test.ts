import { createLogger, createProcess } from '@agent-service/runtime';
import { startExporter } from '@agent-service/runtime/tracing-sdk';
import { spanCollector } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import {
  type ClientConfig,
  createClient,
  type ErrorCode,
  type Implementation,
  ServiceError,
  serve,
  services,
  withCall,
} from '../src/index.ts';
import { config, everyMethod } from './served.ts';

const rest = everyMethod('identity', () => ({ allow: services('gateway'), handle: async () => ({}) }));

/** Answers `ok`, and fails with the code that the id of the user names. */
const getUser: Implementation<'identity'>['getUser'] = {
  allow: services('gateway'),
  handle: async ({ userId }) => {
    if (userId === 'ok') return {};
    throw new ServiceError(userId as ErrorCode);
  },
};

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue: string };
}

/** The attributes and the status of a span; a status of 2 says that it has failed. */
function readDetails(details: string) {
  const { attributes, status } = JSON.parse(details) as { attributes: Attribute[]; status: { code: number } };
  return { ...Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue])), failed: status.code === 2 };
}

test('the span of a server has failed where the server has, and the span of a client wherever the call did', async () => {
  const collector = await spanCollector();
  const stop = startExporter('test', { endpoint: collector.url }, createLogger('test', 'silent'));
  const peer = await createProcess('peer', config, (process) =>
    serve(process, config as never, 'identity', { ...rest, getUser } as Implementation<'identity'>),
  );
  const address = `ipv4:127.0.0.1:${peer.started}`;
  const client = createClient('identity', { address, as: 'gateway', config: config as unknown as ClientConfig });
  const codes = ['ok', 'not_found', 'insufficient_scope', 'idempotency_key_reused', 'rate_limited', 'credits_exhausted', 'internal'];
  for (const userId of codes) {
    const inCall = { requestId: `req-${userId}`, expiresAt: performance.now() + 5_000 };
    await withCall(inCall, () => client.getUser({ userId })).catch((cause: ServiceError) => expect(cause.code).toBe(userId));
  }
  client.close();
  await peer.stop();
  await stop();
  await collector.stop();

  const method = 'agentservice.v1.IdentityService/GetUser';
  expect(new Set(collector.spans.map(({ name }) => name))).toEqual(new Set([method]));
  const rpc = { 'rpc.system.name': 'grpc', 'rpc.method': method };
  const ends = collector.spans.map(({ details }) => readDetails(details)) as Record<string, unknown>[];
  const [served, sent] = [true, false].map((isServed) => ends.filter((end) => 'agent_service.request_id' in end === isServed));
  const id = (code: string) => ({ ...rpc, 'agent_service.request_id': `req-${code}` });
  expect(served).toEqual([
    { ...id('ok'), 'rpc.status_code': 'OK', failed: false },
    { ...id('not_found'), 'rpc.status_code': 'NOT_FOUND', failed: false },
    { ...id('insufficient_scope'), 'rpc.status_code': 'PERMISSION_DENIED', failed: false },
    { ...id('idempotency_key_reused'), 'rpc.status_code': 'INVALID_ARGUMENT', failed: false },
    { ...id('rate_limited'), 'rpc.status_code': 'RESOURCE_EXHAUSTED', failed: false },
    { ...id('credits_exhausted'), 'rpc.status_code': 'FAILED_PRECONDITION', failed: false },
    { ...id('internal'), 'rpc.status_code': 'INTERNAL', 'error.type': 'internal', failed: true },
  ]);
  expect(sent?.map(({ failed }) => failed)).toEqual([false, true, true, true, true, true, true]);
});
