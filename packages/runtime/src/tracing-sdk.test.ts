import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { inRequestSpan } from './tracing.ts';
import { startExporter } from './tracing-sdk.ts';

/** The SDK sends as soon as it has so many spans. */
const batch = 512;

test('a sampler keeps what callers have sampled, and the log says once that a collector takes nothing, and once that it does again', async () => {
  process.env['OTEL_RESOURCE_ATTRIBUTES'] = 'deployment.environment=staging,service.name=other';
  const bodies: string[] = [];
  const logged: object[] = [];
  let status = 400;
  let took: () => void = () => undefined;
  const collector = createServer(async (request, response) => {
    bodies.push(await text(request));
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}', () => took());
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`;
  const log = (event: object) => void logged.push(event);
  const stop = startExporter('test', { endpoint, sampler: 'parentbased_traceidratio', share: 0 }, { warn: log, info: log });

  const serve = (name: string, flags?: string) =>
    inRequestSpan(
      name,
      () => flags && `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-${flags}`,
      async () => undefined,
    );
  const sendBatch = async () => {
    const sent = new Promise<void>((resolve) => {
      took = resolve;
    });
    for (let each = 0; each < batch; each += 1) await serve('sampled', '01');
    await sent;
  };
  await serve('without a caller');
  await serve('not sampled', '00');
  await sendBatch();
  await sendBatch();
  status = 200;
  await sendBatch();
  await serve('last', '01');
  await stop();
  collector.close();

  expect(bodies).toHaveLength(4);
  expect(bodies.filter((body) => /without a caller|not sampled/.test(body))).toEqual([]);
  expect(bodies[3]).toContain('"last"');
  const { resource } = JSON.parse(bodies[3] ?? '').resourceSpans[0];
  expect(resource.attributes).toContainEqual({ key: 'deployment.environment', value: { stringValue: 'staging' } });
  expect(resource.attributes).toContainEqual({ key: 'service.name', value: { stringValue: 'test' } });
  expect(logged).toEqual([{ event: 'traces_not_taken', reason: expect.any(String) }, { event: 'traces_taken' }]);
});
