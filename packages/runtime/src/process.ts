import { ConfigurationError } from './config.ts';
import { createHealth, type Health } from './health.ts';
import { closeServer, listen } from './listen.ts';
import { createLogger, type Logger } from './log.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createOpsServer } from './ops-server.ts';
import type { ProcessConfig } from './settings.ts';
import { withTimeout } from './timeout.ts';
import { startTracing } from './tracing.ts';

const stopLimitMs = 10_000;

/** What a service gets from its process, and where it leaves what must be stopped. */
export interface ProcessContext {
  readonly name: string;
  readonly logger: Logger;
  readonly health: Health;
  readonly metrics: Metrics;
  /** Aborted when the process begins to stop; for loops that wait. */
  readonly stopping: AbortSignal;
  /** Parts are stopped in reverse order of this call, each within its limit. */
  onStop(part: string, stop: () => Promise<unknown>, limitMs?: number): void;
}

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
  const abort = new AbortController();
  const parts: Part[] = [];
  const context: ProcessContext = {
    name,
    logger,
    health,
    metrics,
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

async function stopPart(part: Part, logger: Logger): Promise<void> {
  try {
    await withTimeout(Promise.resolve(part.stop()), part.limitMs, () => new Error(`did not stop within ${part.limitMs} ms`));
  } catch (cause) {
    logger.error({ event: 'stop_failed', part: part.name, err: cause });
  }
}

/**
 * The whole of a main file: read the settings, start, and stop gracefully on SIGTERM, SIGINT or when the
 * supervisor's channel closes. A fault nobody caught ends the process, because its state is then unknown.
 */
export async function runProcess<Config extends ProcessConfig>(
  name: string,
  configure: (env: NodeJS.ProcessEnv) => Config,
  start: Start<Config, unknown>,
): Promise<void> {
  try {
    const running = await createProcess(name, configure(process.env), start);
    const stop = async (reason: string) => {
      running.logger.info({ event: 'stopping', reason });
      await running.stop();
      running.logger.info({ event: 'stopped' });
      process.exit(0);
    };
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal));
    process.on('disconnect', () => void stop('the supervisor is gone'));
    for (const fault of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(fault, (cause: unknown) => {
        running.logger.fatal({ event: fault, err: cause });
        process.exit(1);
      });
    }
  } catch (cause) {
    const text = cause instanceof ConfigurationError ? cause.message : (cause instanceof Error && cause.stack) || String(cause);
    process.stderr.write(`${name} can not start. ${text}\n`);
    process.exit(1);
  }
}
