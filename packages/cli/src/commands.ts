import { ServiceError } from '@agent-service/contracts';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Connection } from './connection.ts';

/** A noun of the command line. `--json` is understood behind every verb as well. */
export function group(program: Command, name: string, description: string): (verb: string, text: string) => Command {
  const noun = program.command(name).description(description);
  return (verb, text) =>
    noun
      .command(verb)
      .description(text)
      .option('--json', 'print one JSON object')
      .on('option:json', () => program.setOptionValue('json', true));
}

export const environmentOption = () => new Option('--environment <environment>').choices(['live', 'test']).makeOptionMandatory();

export const scopesOption = () =>
  new Option('--scopes <scopes>', 'scopes separated by blanks; all that the role of the user may hold unless given')
    .default([], 'all of the role')
    .argParser((text: string) => text.split(/[\s,]+/).filter(Boolean));

/** Text that is no whole number is a mistake and never the default. */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

type Value = string | number | boolean | readonly unknown[] | { readonly [name: string]: unknown };

/** One line a field for people, one JSON object for machines. */
export function print(result: Record<string, Value>, asJson: boolean): void {
  const text = asJson ? JSON.stringify(result) : lines(result).join('\n');
  process.stdout.write(`${text}\n`);
}

function lines(result: object, prefix = ''): string[] {
  return Object.entries(result).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? lines(value, `${prefix}${name}.`) : [`${prefix}${name}: ${value}`],
  );
}

export function failureText(cause: unknown): string {
  if (cause instanceof ServiceError) return `${cause.code}: ${cause.message}${cause.param ? ` (${cause.param})` : ''}`;
  return cause instanceof Error ? cause.message : String(cause);
}

/** Runs one command against the services and prints what it answers. */
export type Run = (work: (connection: Connection) => Promise<Parameters<typeof print>[0]>) => Promise<void>;
