import { type SpanCollector, spanCollector } from '@agent-service/testkit';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { startWorld, type World } from './world.ts';

let collector: SpanCollector;
let world: World;
beforeAll(async () => {
  collector = await spanCollector();
  world = await startWorld({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
});
afterAll(() => collector.stop());

test('a caller’s trace goes on through the gateway and over gRPC into identity', async () => {
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  await world.call(world.ours.keys.live, { method: 'GET', path: '/v1/users', headers: { traceparent } });
  // Stopping exports the remaining spans.
  await world.stop();
  const spans = collector.spans.filter((span) => span.traceId === traceId);
  const served = spans.find((span) => span.service === 'gateway' && span.parentSpanId === 'b7ad6b7169203331');
  const called = spans.find((span) => span.service === 'gateway' && span.name.endsWith('/ListUsers'));
  const answered = spans.find((span) => span.service === 'identity' && span.name === 'ListUsers');
  expect(served).toBeDefined();
  expect(called?.parentSpanId).toBe(served?.spanId);
  expect(answered?.parentSpanId).toBe(called?.spanId);
});
