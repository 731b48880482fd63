import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { OperatorFault } from './failures.ts';

/** The settings do not describe a working process. Each fault begins with the setting's name and says what is needed; the message lists all. */
export class ConfigurationError extends OperatorFault {
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

const list = () => z.string().transform((value) => value.split(/[\s,]+/).filter(Boolean));

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
  /** One secret, or several separated by commas while it is replaced: the first is used, all are accepted. */
  secrets: () =>
    z
      .string()
      .transform((value) => value.split(',').map((secret) => secret.trim()))
      .refine((secrets) => secrets.every((secret) => secret.length >= 32), 'must have at least 32 characters, each of several'),
  url: (...protocols: string[]) =>
    z
      .string()
      .refine(
        (value) => protocols.includes(safeProtocol(value)),
        `must be a URL that begins with ${protocols.map((p) => `${p}//`).join(' or ')}`,
      ),
  /** A file with content that `parse` accepts, read when the settings are. */
  file: (what: string, parse: (content: Buffer) => unknown) =>
    z.string().superRefine((path, context) => {
      try {
        parse(readFileSync(path));
      } catch (cause) {
        const { code = '' } = cause as NodeJS.ErrnoException;
        // Node's codes for files are upper-case words; others come from the parser.
        context.addIssue(/^E[A-Z]+$/.test(code) ? `names a file that cannot be read (${code})` : `must name a file with ${what} (PEM)`);
      }
    }),
  list,
  /** A list, empty by default, whose parser throws an error with a message for the operator. */
  parsedList: <T>(parse: (entries: readonly string[]) => T) =>
    list()
      .default([])
      .transform((entries, context) => {
        try {
          return parse(entries);
        } catch (cause) {
          context.addIssue((cause as Error).message);
          return z.NEVER;
        }
      }),
};

function safeProtocol(value: string): string {
  return URL.canParse(value) ? new URL(value).protocol : '';
}

const traceSamplers = [
  ...(['always_on', 'always_off', 'traceidratio'] as const),
  ...(['parentbased_always_on', 'parentbased_always_off', 'parentbased_traceidratio'] as const),
] as const;
export type TraceSampler = (typeof traceSamplers)[number];

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Settings of every process. */
export const processSettings = {
  HOST: setting.text().default('0.0.0.0').describe('The address on which a process listens.'),
  OPS_PORT: setting.port(9090).describe('The port of `/livez`, `/readyz` and `/metrics`.'),
  LOG_LEVEL: z
    .enum(logLevels, `must be one of ${logLevels.join(', ')}`)
    .default('info')
    .describe('The least severe log events that are written.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting
    .url('http:', 'https:')
    .optional()
    .describe(
      'Where traces are sent, as `http://collector:4318`; with the headers of `OTEL_EXPORTER_OTLP_HEADERS` and the attributes of `OTEL_RESOURCE_ATTRIBUTES`.',
    ),
  OTEL_TRACES_SAMPLER: z
    .enum(traceSamplers, `must be one of ${traceSamplers.join(', ')}`)
    .optional()
    .describe(
      'Which traces are sent: without it all, but those whose caller says in `traceparent` that they are not (`parentbased_always_on`).',
    ),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .regex(/^(0(\.\d+)?|1(\.0+)?)$/, 'must be a number from 0 to 1')
    .transform(Number)
    .optional()
    .describe('The share of traces that `traceidratio` and `parentbased_traceidratio` send, as `0.01`.'),
  DRAIN_DELAY_MS: setting
    .integer(0, 0, 60_000)
    .describe('How long a process that is stopped goes on taking calls after it has become unready, so that load balancers see it first.'),
};

const schema = z.object(processSettings);
export type ProcessConfig = z.output<typeof schema>;

/** With this argument a process loads its code, waits for a message of its supervisor before it starts, and says when it has started. */
export const supervised = '--supervised';

/**
 * Every process runs with these. V8 would discard compiled code eight seconds after a load, which `releaseMemoryWhenIdle` does later, and would
 * optimize PostgreSQL's parser in WebAssembly, for which it takes 540 MB once and a second of processor time (docs/decisions/0150).
 */
export const nodeOptions = ['--no-memory-reducer', '--liftoff-only'];
