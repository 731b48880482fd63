import { z } from 'zod';
import { setting } from './config.ts';

/** Settings that every process understands. */
export const processSettings = {
  HOST: setting.text().default('0.0.0.0'),
  OPS_PORT: setting.port(9090),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting.url('http:', 'https:').optional(),
  DRAIN_DELAY_MS: setting.integer(0, 0, 60_000),
};

const schema = z.object(processSettings);
export type ProcessConfig = z.output<typeof schema>;
