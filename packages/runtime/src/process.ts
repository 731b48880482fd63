import { withTimeout } from '@agent-service/work';
import { type Clock, processClock } from './clock.ts';
import { createHealth } from './health.ts';
import { closeServer, listen } from './listen.ts';
import { createLogger, type Logger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createOpsServer } from './ops-server.ts';
import type { ProcessContext } from './process-context.ts';
import type { ProcessConfig } from './settings.ts';
import { startTracing } from './start-tracing.ts';

const stopLimitMs = 10_000;

export interface RunningProcess<Started = unknown> extends ProcessContext {
  readonly opsPort: number;
  /** What the service's own start answered with, as the port it serves on. */
  readonly started: Started;
  stop(): Promise<void>;
}

interface Part {
  name: string;
  stop: () => Promise<unknown>;
  limitMs: number;
}

export type Start<Config, Started> = (context: ProcessContext, config: Config) => Promise<Started>;

/** Boots a service inside this Node process: what `runProcess` does for a main file and tests do by hand. */
export async function createProcess<Config extends ProcessConfig, Started>(
  name: string,
  config: Config,
  start: Start<Config, Started>,
): Promise<RunningProcess<Started>> {
  const logger = createLogger(name, config.LOG_LEVEL);
  const health = createHealth();
  const metrics = createMetrics(name);
  const clock = processClock;
  health.addCheck('clock', checkOf(clock, metrics));
  const abort = new AbortController();
  const parts: Part[] = [];
  const context: ProcessContext = {
    name,
    logger,
    health,
    metrics,
    clock,
    stopping: abort.signal,
    onStop: (part, stop, limitMs = stopLimitMs) => void parts.push({ name: part, stop, limitMs }),
  };
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= stopParts());

  async function stopParts(): Promise<void> {
    health.markStopping();
    if (config.DRAIN_DELAY_MS > 0) await new Promise((resolve) => setTimeout(resolve, config.DRAIN_DELAY_MS));
    abort.abort();
    for (const part of parts.reverse()) await stopPart(part, logger);
  }

  try {
    await startTracing(context, config.OTEL_EXPORTER_OTLP_ENDPOINT);
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

/** Watched wherever readiness is asked for, which is every second in a service. */
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
