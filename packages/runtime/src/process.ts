import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { sleep, withTimeout } from '@agent-service/work';
import { type Clock, processClock } from './clock.ts';
import type { ProcessConfig } from './config.ts';
import { createHealth, type Health } from './health.ts';
import { closeServer, listen } from './listen.ts';
import { createLogger, type Logger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';

/** The parts of a process that its service uses. */
export interface ProcessContext {
  readonly name: string;
  readonly logger: Logger;
  readonly health: Health;
  readonly metrics: Metrics;
  readonly clock: Clock;
  /** Aborts when the process becomes unready and still serves, DRAIN_DELAY_MS before `stopping`. */
  readonly draining: AbortSignal;
  /** Aborts when the process begins to stop. */
  readonly stopping: AbortSignal;
  /** Registers a part to stop. Parts are stopped in reverse order, each within its limit. */
  onStop(part: string, stop: () => Promise<unknown>, limitMs?: number): void;
}

const stopLimitMs = 10_000;

export interface RunningProcess<Started = unknown> extends ProcessContext {
  readonly opsPort: number;
  /** The result of the service's own start, for example its port. */
  readonly started: Started;
  stop(): Promise<void>;
}

interface Part {
  name: string;
  stop: () => Promise<unknown>;
  limitMs: number;
}

export type Start<Config, Started> = (context: ProcessContext, config: Config) => Promise<Started>;

/** Starts a service inside this Node process. Main files use `runProcess`; tests call this function. */
export async function createProcess<Config extends ProcessConfig, Started>(
  name: string,
  config: Config,
  start: Start<Config, Started>,
): Promise<RunningProcess<Started>> {
  const logger = createLogger(name, config.LOG_LEVEL);
  const health = createHealth(logger);
  const metrics = createMetrics(name);
  const clock = processClock;
  health.addCheck('clock', checkOf(clock, metrics));
  metrics.gauge('process_ready', '1 while this process can serve, as /readyz says', [], async (ready) =>
    ready.set((await health.report()).ready ? 1 : 0),
  );
  const drain = new AbortController();
  const abort = new AbortController();
  const parts: Part[] = [];
  const context: ProcessContext = {
    name,
    logger,
    health,
    metrics,
    clock,
    draining: drain.signal,
    stopping: abort.signal,
    onStop: (part, stop, limitMs = stopLimitMs) => void parts.push({ name: part, stop, limitMs }),
  };
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= stopParts());

  async function stopParts(): Promise<void> {
    health.markStopping();
    drain.abort();
    if (config.DRAIN_DELAY_MS > 0) await sleep(config.DRAIN_DELAY_MS);
    abort.abort();
    for (const part of parts.reverse()) await stopPart(part, logger);
  }

  try {
    await startTracing(context, config);
    const opsServer = createOpsServer(health, metrics);
    const opsPort = await listen(opsServer, config.HOST, config.OPS_PORT);
    context.onStop('ops server', () => closeServer(opsServer));
    const started = await start(context, config);
    health.markReady();
    logger.info({ event: 'started', ops_port: opsPort, startup_ms: Math.round(performance.now()) });
    return { ...context, opsPort, started, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

/** Measures the clock at each readiness check, which services run every second. */
function checkOf(clock: Clock, metrics: Metrics): () => Promise<void> {
  const ahead = metrics.gauge('clock_ahead_seconds', "How far this computer's clock is ahead of the one that the process follows", []);
  return async () => {
    ahead.set(clock.aheadMs / 1000);
    clock.check();
  };
}

async function stopPart(part: Part, logger: Logger): Promise<void> {
  try {
    await withTimeout(Promise.resolve(part.stop()), part.limitMs, () => new Error(`did not stop within ${part.limitMs} ms`));
  } catch (cause) {
    logger.error({ event: 'stop_failed', part: part.name, err: cause });
  }
}

/** Without the collector a stop waits no longer: the SDK tries for ten seconds, which would be most of the time that a process has to end. */
const traceStopLimitMs = 2_000;

/** Exports spans by OTLP over HTTP. The SDK takes 250 ms to load, so it is loaded only if an endpoint is configured. */
async function startTracing(process: ProcessContext, config: ProcessConfig): Promise<void> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share } = config;
  if (!endpoint) return;
  const { startExporter } = await import('./tracing-sdk.ts');
  process.onStop('traces', startExporter(process.name, { endpoint, sampler, share }, process.logger), traceStopLimitMs);
}

/** Serves /livez, /readyz and /metrics to operators and probes, on a port of its own. */
function createOpsServer(health: Health, metrics: Metrics): Server {
  return createServer((request, response) => {
    answer(request, response, health, metrics).catch((cause: unknown) => {
      send(response, 500, 'text/plain', cause instanceof Error ? cause.message : 'failed');
    });
  });
}

async function answer(request: IncomingMessage, response: ServerResponse, health: Health, metrics: Metrics): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://ops');
  switch (pathname) {
    case '/livez':
      return send(response, 200, 'application/json', '{"status":"alive"}');
    case '/readyz': {
      const toleratedMs = Number(searchParams.get('tolerated-seconds')) * 1_000;
      const report = await health.report(toleratedMs);
      return send(response, report.ready ? 200 : 503, 'application/json', JSON.stringify(report));
    }
    case '/metrics':
      return send(response, 200, metrics.registry.contentType, await metrics.registry.metrics());
    default:
      return send(response, 404, 'text/plain', 'not found');
  }
}

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
