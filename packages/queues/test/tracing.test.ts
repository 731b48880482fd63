import { createLogger, inRequestSpan, inStepSpan, traceHeaders } from '@agent-service/runtime';
import { startExporter } from '@agent-service/runtime/tracing-sdk';
import { spanCollector, testRedis, until } from '@agent-service/testkit';
import { expect, test } from '@jest/globals';
import { createProducer, openRedis, startWorker } from '../src/index.ts';
import { answerJob, auto, patient, testProcess } from './support.ts';

test('without a collector a job carries nothing of a trace', async () => {
  const process = await testProcess();
  const redis = await openRedis(process, auto((await testRedis()).url), patient);
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  await createProducer(process, redis, 'answer').add([{ payload: answerJob('plain'), traceparent }]);
  const stored = await redis.commands.hgetall('{answers}:answers:plain-1');
  expect(stored['data']).toContain('"answerId":"plain"');
  expect(JSON.stringify(stored)).not.toContain('0af7651916cd43dd8448eb211c80319c');
  await process.stop();
});

test('each job goes on with the trace that it was added with, alone or with others, and not with that of the work that adds it', async () => {
  const collector = await spanCollector();
  const stop = startExporter('test', { endpoint: collector.url }, createLogger('test', 'silent'));
  const process = await testProcess();
  const redis = await openRedis(process, auto((await testRedis()).url), patient);
  let worked = 0;
  await startWorker(process, redis, 'answer', {
    concurrency: 5,
    drainMs: 100,
    handle: async ({ answerId }) => {
      await inStepSpan(`work on ${answerId}`, async () => undefined);
      worked += 1;
    },
  });
  const request = (name: string) =>
    inRequestSpan(
      name,
      () => undefined,
      async () => traceHeaders()['traceparent'] ?? '',
    );
  const [one, two, alone] = await Promise.all([request('one'), request('two'), request('alone')]);
  const producer = createProducer(process, redis, 'answer');
  await inStepSpan('dispatch', async () => {
    await producer.add([
      { payload: answerJob('one'), traceparent: one },
      { payload: answerJob('two'), traceparent: two },
    ]);
    await producer.add([{ payload: answerJob('alone'), traceparent: alone }]);
  });
  await until('all are worked on', async () => worked === 3);
  await process.stop();
  await stop();
  const { spans } = collector;
  for (const [name, traceparent] of Object.entries({ one, two, alone })) {
    const [, traceId] = traceparent.split('-');
    const work = spans.find((span) => span.name === `work on ${name}`);
    expect(work?.traceId).toBe(traceId);
    expect(spans.find(({ spanId }) => spanId === work?.parentSpanId)?.traceId).toBe(traceId);
  }
  await collector.stop();
});
