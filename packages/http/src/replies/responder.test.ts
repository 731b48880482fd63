import { ServiceError } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { expect, test } from '@jest/globals';
import type { Exchange } from './exchange.ts';
import { createObserver } from './responder.ts';

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
