import { spanCollector, testRedis } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { context, SpanKind } from '@opentelemetry/api';
import { Queue, Worker } from 'bullmq';
import { queueTelemetry } from '../src/queue-telemetry.ts';
import { inSpan } from '../src/tracing.ts';
import { startExporter } from '../src/tracing-sdk.ts';

test('a job continues the trace of the request that added it', async () => {
  const collector = await spanCollector();
  const stop = startExporter('test', collector.url);
  const { hostname, port, password, username, pathname } = new URL((await testRedis()).url);
  const connection = {
    host: hostname,
    port: Number(port),
    db: Number(pathname.slice(1)),
    ...(password && { username, password: decodeURIComponent(password) }),
  };
  const telemetry = queueTelemetry();
  const queue = new Queue('traced', { connection, telemetry });
  const done = Promise.withResolvers<void>();
  const work = () => inSpan('work', SpanKind.INTERNAL, context.active(), async () => done.resolve());
  const worker = new Worker('traced', work, { connection: { ...connection, maxRetriesPerRequest: null }, telemetry });
  await inSpan('request', SpanKind.SERVER, context.active(), () => queue.add('job', {}));
  await done.promise;
  await worker.close();
  await queue.close();
  await stop();
  const { spans } = collector;
  const request = spans.find(({ name }) => name === 'request');
  const worked = spans.find(({ name }) => name === 'work');
  expect(request).toBeDefined();
  expect(worked?.traceId).toBe(request?.traceId);
  expect(spans.find(({ spanId }) => spanId === worked?.parentSpanId)).toBeDefined();
  await collector.stop();
});
