import { z } from 'zod';

/** The environment does not describe a working process; the message lists every fault with the setting's name. */
export class ConfigurationError extends Error {
  override name = 'ConfigurationError';
}

/**
 * Parses the environment with a schema whose keys are the settings' own names.
 * An empty value counts as absent. All faults are reported together, never the values.
 */
export function readConfig<Schema extends z.ZodObject>(schema: Schema, env: NodeJS.ProcessEnv): z.output<Schema> {
  const known = Object.keys(schema.shape).map((name) => [name, env[name]] as const);
  const present = Object.fromEntries(known.filter(([, value]) => value !== undefined && value !== ''));
  const result = schema.safeParse(present);
  if (result.success) return result.data;
  const faults = result.error.issues.map(
    ({ path: [name = '(settings)'], message }) => `  ${String(name)}: ${name in present ? message : 'is required and not set'}`,
  );
  throw new ConfigurationError(`These settings need attention:\n${faults.join('\n')}`);
}

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min, `must be at least ${min}`).max(max, `must be at most ${max}`));

/** The kinds of settings there are. */
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
