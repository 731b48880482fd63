import { randomUUID } from 'node:crypto';
import { type Environment, ServiceError, withCall } from '@agent-service/contracts';
import { reasonOf } from '@agent-service/runtime/failures';
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

export const scopesOption = (unlessGiven: string) =>
  new Option('--scopes <scopes>', `scopes separated by blanks; ${unlessGiven} unless given`).default([], unlessGiven).argParser(scopeList);

/** Without names it would mean all scopes, and an unset variable of a shell is an empty text. */
function scopeList(text: string): string[] {
  const scopes = text.split(/[\s,]+/).filter(Boolean);
  if (scopes.length > 0) return scopes;
  throw new InvalidArgumentError('Name at least one scope, or leave the option out.');
}

export interface TenantOptions {
  organization: string;
  environment: Environment;
}

/** The options of a command on one environment of an organization. */
export const withTenant = (command: Command): Command => command.requiredOption('--organization <id>').addOption(environmentOption());

/** Text that is no whole number is a mistake and never the default. */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number.');
}

export interface PageOptions {
  limit: number;
  after: string;
}

const maxRows = 100;

/** The options of a command that lists. */
export const withPages = (command: Command): Command =>
  command
    .option('--limit <rows>', `rows of a page, 1 to ${maxRows}`, pageLimit, maxRows)
    .option('--after <cursor>', 'the `next` of the page before', '');

function pageLimit(text: string): number {
  const limit = wholeNumber(text);
  if (limit >= 1 && limit <= maxRows) return limit;
  throw new InvalidArgumentError(`It must be from 1 to ${maxRows}.`);
}

/** How many there are, and where the next page begins if there is one. */
export const pageOutput = (page: { readonly total: string; readonly nextCursor: string } | null) => ({
  total: Number(page?.total ?? 0),
  ...(page?.nextCursor && { next: page.nextCursor }),
});

const callLimitMs = 10_000;

interface OperatedTenant {
  readonly organization: string;
  readonly environment?: Environment;
}

/** Only identity knows which organizations exist: elsewhere one that does not has nothing, or would begin to have something. */
export async function requireOrganization({ identity }: Pick<Connection, 'identity'>, organizationId: string): Promise<void> {
  await identity.getOrganization({ organizationId });
}

/** Runs the operator's work on an organization in that organization's name. */
export function inOrganization<T>({ organization, environment = 'live' }: OperatedTenant, work: () => T): T {
  const principal = { organizationId: organization, environment, userId: '', credentialId: '', scopes: [], admin: true } as const;
  return withCall({ requestId: randomUUID(), principal, expiresAt: performance.now() + callLimitMs }, work);
}

type Value = string | number | boolean | readonly unknown[] | { readonly [name: string]: unknown };

/** Lines and tables for people, one JSON object for machines. */
export function print(result: Record<string, Value>, asJson: boolean): void {
  const text = asJson ? JSON.stringify(result) : readableLines(result).join('\n');
  process.stdout.write(`${text}\n`);
}

function readableLines(result: object, prefix = ''): string[] {
  return Object.entries(result).flatMap(([name, value]) => {
    if (Array.isArray(value)) return value.every(isObject) && value.length > 0 ? tableLines(value) : [`${prefix}${name}: ${cellOf(value)}`];
    return isObject(value) ? readableLines(value, `${prefix}${name}.`) : [`${prefix}${name}: ${cellOf(value)}`];
  });
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function cellOf(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(cellOf).join(', ');
  return visible(isObject(value) ? JSON.stringify(value) : String(value ?? ''));
}

/** Controls of the terminal, ends of lines, and characters that change the direction of the text after them. */
const controls = /[\p{Cc}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;
const escaped = (character: string) => (character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Names come from users of organizations: none may control the operator's terminal. */
const visible = (text: string): string => text.replace(controls, escaped);

const gap = '  ';

/** A line for each row under the names of the columns that have a value somewhere. */
function tableLines(rows: readonly object[]): string[] {
  const cells = rows.map((row) => new Map(Object.entries(row).map(([name, value]) => [name, cellOf(value)])));
  const names = [...new Set(cells.flatMap((row) => [...row.keys()]))].filter((name) => cells.some((row) => row.get(name)));
  const width = (name: string) => Math.max(name.length, ...cells.map((row) => row.get(name)?.length ?? 0));
  const widths = names.map(width);
  const line = (texts: readonly string[]) =>
    texts
      .map((text, column) => text.padEnd(widths[column] ?? 0))
      .join(gap)
      .trimEnd();
  return [line(names), ...cells.map((row) => line(names.map((name) => row.get(name) ?? '')))];
}

export function printableFailure(cause: unknown): string {
  const message = reasonOf(cause);
  const text = cause instanceof ServiceError ? `${cause.code}: ${message}${cause.param ? ` (${cause.param})` : ''}` : message;
  // The faults of a configuration have lines of their own.
  return text.split('\n').map(visible).join('\n');
}

/** Runs one command against the services and prints what it answers. */
export type Run = (work: (connection: Connection) => Promise<Parameters<typeof print>[0]>) => Promise<void>;
