export { type Clock, type ClockSampler, createClock, processClock } from './clock.ts';
export { ConfigurationError, processSettings, readConfig, setting } from './config.ts';
export { createHealth, type Health } from './health.ts';
export { createLogger, type Logger } from './log.ts';
export { createMetrics, type Metrics } from './metrics.ts';
export type { ProcessContext } from './process.ts';
export { createProcess, type RunningProcess } from './process.ts';
export { runProcess, runTask } from './run-process.ts';
export { inJobSpan, inRequestSpan, inStepSpan, type SpanDescription, type SpanEnd, traceHeaders } from './tracing.ts';
