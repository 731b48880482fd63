import { ServiceError } from '@agent-service/contracts';
import { createLogger, inStepSpan, type ProcessContext } from '@agent-service/runtime';
import { startExporter } from '@agent-service/runtime/tracing-sdk';
import { spanCollector } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import type { Exchange } from './exchange.ts';
import { jsonReply, type Reply } from './reply.ts';
import { createObserver, createResponder } from './responder.ts';

test('the log names the code of a failure, and none of one that is passed on from another server', () => {
  const events: unknown[][] = [];
  const levelOf = (level: string) => (event: object) => void events.push([level, event]);
  const logger = { error: levelOf('error'), warn: levelOf('warn'), info: levelOf('info') };
  const observer = createObserver({ logger, metrics: { seconds: () => ({ observe: () => undefined }) } } as unknown as ProcessContext);
  const exchange = {
    request: { method: 'GET' },
    route: '/v1/agents',
    requestId: 'r',
    startedAt: 0,
    abandoned: false,
  } as unknown as Exchange;
  observer.finished(exchange, { status: 200, bytes: 2 });
  observer.finished(exchange, { status: 503, bytes: 2 });
  observer.finished(exchange, { status: 404, bytes: 2, error: new ServiceError('not_found') });
  expect(events).toEqual([
    ['info', expect.objectContaining({ status: 200, code: 'ok' })],
    ['warn', expect.objectContaining({ status: 503, code: undefined })],
    ['info', expect.objectContaining({ status: 404, code: 'not_found' })],
  ]);
});

test('a probe of the health is no request of a caller: it is not measured, and logged at the level debug only', () => {
  const logged: string[] = [];
  const measured: unknown[] = [];
  const levelOf =
    (level: string) =>
    ({ route }: { route?: string }) =>
      void logged.push(`${level} ${route}`);
  const logger = { error: levelOf('error'), warn: levelOf('warn'), info: levelOf('info'), debug: levelOf('debug') };
  const metrics = { seconds: () => ({ observe: ({ route }: { route: string }) => void measured.push(route) }) };
  const observer = createObserver({ logger, metrics } as unknown as ProcessContext);
  const finish = (route: string, status: number) =>
    observer.finished({ request: { method: 'GET' }, route, abandoned: false } as unknown as Exchange, { status, bytes: 2 });
  finish('/readyz', 200);
  finish('/readyz', 503);
  finish('/livez', 200);
  finish('/readyz', 500);
  finish('/v1/agents', 503);
  expect(logged).toEqual(['debug /readyz', 'debug /readyz', 'debug /livez', 'error /readyz', 'warn /v1/agents']);
  expect(measured).toEqual(['/v1/agents']);
});

test('the span of a request lasts until its streamed reply has ended, and has failed only where the service has', async () => {
  const collector = await spanCollector();
  const stop = startExporter('test', { endpoint: collector.url }, createLogger('test', 'silent'));
  const observer = { finished: () => undefined };
  const delivery = { stopping: new AbortController().signal } as Parameters<typeof createResponder>[0]['delivery'];
  const respond = createResponder({ observer, delivery });
  const request = { method: 'GET', headers: {}, get: () => undefined, socket: {} } as never;
  const response = { destroyed: true } as never;
  const ask = (route: string, work: () => Reply) => respond(route, work)(request, response, () => undefined);
  const inStep = (name: string) => inStepSpan(name, async () => undefined);
  await ask('/streamed', () => ({ status: 200, stream: () => inStep('written').then(() => ({ bytes: 1, cut: false })) }));
  const error = new ServiceError('provider_error');
  await ask('/cut', () => ({ status: 200, stream: async () => ({ bytes: 1, cut: false, error }) }));
  await ask('/missing', () => {
    throw new ServiceError('not_found');
  });
  await ask('/left', () => {
    throw new ServiceError('unavailable');
  });
  await ask('/broken', () => {
    throw new Error('a bug');
  });
  await ask('/readyz', () => jsonReply(200, {}));
  await stop();
  await collector.stop();
  const span = (name: string) => collector.spans.find((each) => each.name === name);
  expect(span('written')?.parentSpanId).toBe(span('GET /streamed')?.spanId);
  const failed = collector.spans.filter(({ details }) => details.includes('"code":2')).map(({ name }) => name);
  expect(failed).toEqual(['GET /cut', 'GET /broken']);
  expect(span('GET /cut')?.details).toContain('{"key":"error.type","value":{"stringValue":"provider_error"}}');
  const statusOf = (name: string) => /"http.response.status_code","value":\{"intValue":(\d+)/.exec(span(name)?.details ?? '')?.[1];
  expect(['GET /missing', 'GET /left', 'GET /broken'].map(statusOf)).toEqual(['499', '499', '499']);
  expect(span('GET /readyz')).toBeUndefined();
});
