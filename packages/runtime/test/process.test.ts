import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { createHealth, createProcess, inStepSpan, type ProcessContext } from '../src/index.ts';

const settings = { HOST: '127.0.0.1', OPS_PORT: 0, LOG_LEVEL: 'silent', DRAIN_DELAY_MS: 0 } as const;
const get = async (port: number, path: string) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return { status: answer.status, text: await answer.text() };
};

test('a process that is told to stop becomes unready first, and goes on serving for the delay', async () => {
  const order: string[] = [];
  const running = await createProcess('test', { ...settings, DRAIN_DELAY_MS: 50 }, async ({ draining, stopping, onStop }) => {
    draining.addEventListener('abort', () => order.push(`draining, ${stopping.aborted ? 'not serving' : 'serving'}`));
    stopping.addEventListener('abort', () => order.push('stopping'));
    onStop('server', async () => void order.push('server stopped'));
  });
  const stopped = running.stop();
  expect(await running.health.report()).toMatchObject({ ready: false });
  await stopped;
  expect(order).toEqual(['draining, serving', 'stopping', 'server stopped']);
});

test('the process is ready if every check passes, names the failed check, and runs checks once for concurrent probes', async () => {
  let isFailing = false;
  let checks = 0;
  const running = await createProcess('test', settings, async ({ health }) => {
    health.addCheck('database', async () => {
      checks += 1;
      if (isFailing) throw new Error('is away');
    });
  });
  const ready = () => get(running.opsPort, '/readyz');
  const metrics = async () => (await get(running.opsPort, '/metrics')).text;
  expect(await ready()).toEqual({ status: 200, text: '{"ready":true,"faults":{}}' });
  expect(await metrics()).toContain('process_ready{service="test"} 1\n');
  isFailing = true;
  expect(await ready()).toEqual({ status: 503, text: '{"ready":false,"faults":{"database":"is away"}}' });
  expect(await metrics()).toContain('process_ready{service="test"} 0\n');
  expect(await get(running.opsPort, '/readyz?tolerated-seconds=60')).toEqual({
    status: 200,
    text: '{"ready":true,"faults":{"database":"is away"}}',
  });
  for (const value of ['', '0', '-60', 'long'])
    expect(await get(running.opsPort, `/readyz?tolerated-seconds=${value}`)).toMatchObject({ status: 503 });
  expect((await get(running.opsPort, '/livez')).status).toBe(200);
  checks = 0;
  await Promise.all(Array.from({ length: 20 }, () => running.health.report()));
  expect(checks).toBe(1);
  await running.stop();
});

test('the log names the checks that make a process unready, once for each outage', async () => {
  const events: unknown[] = [];
  let now = 0;
  const note = (event: object) => void events.push(event);
  const health = createHealth({ warn: note, info: note }, () => now);
  let fault: string | undefined;
  health.addCheck('database', async () => {
    if (fault) throw new Error(fault);
  });
  await health.report();
  health.markReady();
  for (const next of ['is not known yet', undefined, 'is slow', 'is away', 'is still away', undefined, undefined]) {
    fault = next;
    await health.report();
    now += 1_000;
  }
  expect(events).toEqual([{ event: 'unready', faults: { database: 'is away' } }, { event: 'ready' }]);
});

test('the fault of a check is the message of its innermost cause, which says what happened', async () => {
  const health = createHealth({ warn: () => undefined, info: () => undefined });
  const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:5432'), new Error('connect ECONNREFUSED 127.0.0.1:5432')]);
  const failWith = (cause: unknown) => () => Promise.reject(new Error('A text for callers.', { cause }));
  health.addCheck('database', failWith(refused));
  health.addCheck('agents', failWith(new Error('agents is not serving', { cause: new Error('certificate has expired') })));
  health.addCheck('identity', failWith(undefined));
  health.markReady();
  expect((await health.report()).faults).toEqual({
    database: 'connect ECONNREFUSED ::1:5432',
    agents: 'certificate has expired',
    identity: 'A text for callers.',
  });
});

test('checks that fail for less than the tolerated time in one piece leave a started process ready', async () => {
  let now = 0;
  const health = createHealth({ warn: () => undefined, info: () => undefined }, () => now);
  let fault: string | undefined = 'is away';
  health.addCheck('database', async () => {
    if (fault) throw new Error(fault);
  });
  const isReadyAt = async (ms: number) => {
    now = ms;
    return (await health.report(15_000)).ready;
  };
  expect(await isReadyAt(0)).toBe(false);
  health.markReady();
  expect(await isReadyAt(1_000)).toBe(true);
  expect(await isReadyAt(15_999)).toBe(true);
  expect(await isReadyAt(16_000)).toBe(false);
  fault = undefined;
  expect(await isReadyAt(17_000)).toBe(true);
  fault = 'is away again';
  expect(await isReadyAt(18_000)).toBe(true);
  expect(await isReadyAt(33_000)).toBe(false);
  fault = undefined;
  health.markStopping();
  expect(await isReadyAt(34_000)).toBe(false);
});

test('the process serves its metrics', async () => {
  const running = await createProcess('test', settings, async ({ metrics }) => {
    metrics.counter('things', 'Things', ['kind']).inc({ kind: 'a' });
  });
  const { text } = await get(running.opsPort, '/metrics');
  expect(text).toContain('things{kind="a",service="test"} 1');
  expect(text.match(/^nodejs_eventloop_lag\w*/gm)).toEqual(['nodejs_eventloop_lag_seconds']);
  await running.stop();
});

test('the process becomes unready, then stops its parts once in reverse order; a part that hangs or fails does not stop the others', async () => {
  const order: string[] = [];
  let context: ProcessContext | undefined;
  const running = await createProcess('test', settings, async (process) => {
    context = process;
    process.onStop('database', async () => order.push('database'));
    process.onStop('hanging', () => new Promise<never>(() => undefined), 20);
    process.onStop('failing', async () => Promise.reject(new Error('no')));
    process.onStop('server', async () => order.push(`server, ${(await process.health.report()).faults['process']}`));
  });
  expect(context?.stopping.aborted).toBe(false);
  await Promise.all([running.stop(), running.stop()]);
  expect(order).toEqual(['server, stopping', 'database']);
  expect(context?.stopping.aborted).toBe(true);
});

test('a failed start stops the parts that it had started', async () => {
  const order: string[] = [];
  const start = createProcess('test', settings, async (process) => {
    process.onStop('database', async () => order.push('database'));
    throw new Error('no queue');
  });
  await expect(start).rejects.toThrow('no queue');
  expect(order).toEqual(['database']);
});

test('a stop does not wait until the export to a silent collector has failed', async () => {
  const collector = createServer().listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const running = await createProcess('test', { ...settings, OTEL_EXPORTER_OTLP_ENDPOINT }, async () => undefined);
  await inStepSpan('a span', async () => undefined);
  const requested = once(collector, 'request') as Promise<[IncomingMessage, ServerResponse]>;
  await running.stop();
  const [request, response] = await requested;
  // By then the collector knows whether the exporter has given up.
  for (let turn = 0; turn < 2; turn += 1) await setImmediate();
  expect(request.socket.destroyed).toBe(false);
  response.writeHead(400).end();
  collector.close();
});
