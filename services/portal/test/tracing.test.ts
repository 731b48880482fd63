import { send, spanCollector } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { sharePortalWorld } from './portal-world.ts';

test('a request that the portal passes on goes on with the trace of its page', async () => {
  const collector = await spanCollector();
  const world = await sharePortalWorld();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  try {
    const at = await world.open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const { email } = await world.makeOrganization();
    const { cookie } = await world.signIn(email, at);
    const headers = { cookie, traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    await send(at, { method: 'GET', path: '/api/test/v1/agents', headers });
  } finally {
    await world.stop();
    await collector.stop();
  }
  const [, ofTrace, parent] = String(world.gateway.requests.at(-1)?.headers['traceparent']).split('-');
  expect(ofTrace).toBe(traceId);
  expect(collector.spans.find(({ spanId }) => spanId === parent)).toMatchObject({ service: 'portal', traceId });
});
