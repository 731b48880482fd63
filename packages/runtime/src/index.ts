export { type Batcher, createBatcher } from './batcher.ts';
export { ConfigurationError, readConfig, setting } from './config.ts';
export { createHealth, type Health } from './health.ts';
export { createLogger, type Logger } from './log.ts';
export { createMetrics, type Metrics } from './metrics.ts';
export { createProcess, type ProcessContext, type RunningProcess, runProcess } from './process.ts';
export { type ProcessConfig, processSettings } from './settings.ts';
export { withTimeout } from './timeout.ts';
export { inSpan, queueTelemetry, remoteContext, traceHeaders, tracer } from './tracing.ts';
