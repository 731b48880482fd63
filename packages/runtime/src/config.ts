import { z } from 'zod';

/** The settings do not describe a working process. Each fault begins with the setting's name and says what is needed; the message lists all. */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`These settings need attention:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.faults = faults;
  }

  /** Also true for an error of another bundle, which has its own copy of this class. */
  static is(cause: unknown): cause is ConfigurationError {
    return cause instanceof Error && cause.name === 'ConfigurationError' && 'faults' in cause;
  }
}

/**
 * Parses the environment with a schema that has the settings' names as its keys. An empty value counts as absent. All faults
 * are reported together, without the values.
 */
export function readConfig<Schema extends z.ZodObject>(schema: Schema, env: NodeJS.ProcessEnv): z.output<Schema> {
  const known = Object.keys(schema.shape).map((name) => [name, env[name]] as const);
  const present = Object.fromEntries(known.filter(([, value]) => value !== undefined && value !== ''));
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  const faults = result.error.issues.map(
    ({ path: [name = '(settings)'], message }) => `${String(name)}: ${name in present ? message : 'is required and not set'}`,
  );
  throw new ConfigurationError(faults);
}

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));

/** The kinds of settings. */
export const setting = {
  /** A whole number within bounds, with the default that works. */
  integer: (fallback: number, min: number, max: number) => integer(min, max).default(fallback),
  port: (fallback: number) => integer(0, 65_535).default(fallback),
  flag: (fallback: boolean) =>
    z
      .enum(['true', 'false'], 'must be true or false')
      .transform((value) => value === 'true')
      .default(fallback),
  text: () => z.string(),
  secret: () => z.string().min(32, 'must have at least 32 characters'),
  url: (...protocols: string[]) =>
    z
      .string()
      .refine(
        (value) => protocols.includes(safeProtocol(value)),
        `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
      ),
  list: () => z.string().transform((value) => value.split(/[\s,]+/).filter(Boolean)),
};

function safeProtocol(value: string): string {
  return URL.canParse(value) ? new URL(value).protocol : '';
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Settings of every process. */
export const processSettings = {
  HOST: setting.text().default('0.0.0.0'),
  OPS_PORT: setting.port(9090),
  LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting.url('http:', 'https:').optional(),
  DRAIN_DELAY_MS: setting.integer(0, 0, 60_000),
};

const schema = z.object(processSettings);
export type ProcessConfig = z.output<typeof schema>;

/** With this argument a process loads its code, waits for a message of its supervisor before it starts, and says when it has started. */
export const supervised = '--supervised';
