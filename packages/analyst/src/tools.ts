import { type Column, type ForeignKey, kindOf, type Schema, type Table } from './schema/schema.ts';

/** Why the data could not be read, as a text for the reader. */
export interface Unreadable {
  readonly error: string;
}

/** The tables that the agent may see. */
interface VisibleTables {
  readonly schema: Schema;
  /** The entries of the agent's scope that the data source lacks, as a text for the reader; empty where it lacks nothing. */
  readonly missing: string;
}

/** The organization's data as far as the agent may see it. */
export interface Data {
  tables(): Promise<VisibleTables | Unreadable>;
  query(sql: string): Promise<Rows | Unreadable>;
  /** As `query`, for what must be known before the question is understood: no query of the answer. */
  prepare(sql: string): Promise<Rows | Unreadable>;
}

export interface Tool {
  readonly name: string;
  run(input: unknown, signal: AbortSignal, options?: { readonly isPreparation?: boolean }): Promise<string>;
}

/** Only the first tables of a larger scope are described. */
const maxTables = 100;

/** The data that a request's tools give access to; undefined without such tools. */
export function toolData(tools: readonly Tool[], signal: AbortSignal): Data | undefined {
  const call = (name: string) => {
    const tool = tools.find((one) => one.name === name);
    return tool && (async (input: unknown, isPreparation = false) => await tool.run(input, signal, { isPreparation }));
  };
  const [list, describe, query] = [call('list_tables'), call('describe_table'), call('query')];
  if (!list || !describe || !query) return undefined;

  const readTables = async (): Promise<VisibleTables | Unreadable> => {
    const text = await list({});
    const listed = readTableList(text)?.slice(0, maxTables);
    if (!listed) return { error: text };
    const described = await Promise.all(listed.map(async ({ written }) => readDescription(await describe({ table: written }))));
    return { schema: schemaOf(listed, described), missing: /^\((The data source does not have .*)\.\)$/m.exec(text)?.[1] ?? '' };
  };
  const rowsOf = async (sql: string, isPreparation: boolean): Promise<Rows | Unreadable> => {
    const text = await query({ sql }, isPreparation);
    return readRows(text) ?? { error: text };
  };
  return {
    tables: readTables,
    query: (sql) => rowsOf(sql, false),
    prepare: (sql) => rowsOf(sql, true),
  };
}

/** A table goes by its own name where no other has the same one. */
export function schemaOf(listed: readonly ListedTable[], described: readonly DescribedTable[]): Schema {
  const own = listed.map(({ written }) => partsOf(written).at(-1) as string);
  const names = own.map((name, index) => (own.indexOf(name) === own.lastIndexOf(name) ? name : nameWithSchema(listed[index])));
  const byPath = new Map(listed.map((table, index) => [nameWithSchema(table), names[index] as string] as const).toReversed());
  return listed.map(({ written, rows }, index): Table => {
    const { keys, ...facts }: DescribedTable = described[index] ?? { columns: [], keys: [] };
    return { ...facts, name: names[index] as string, written, rows, foreignKeys: keys.flatMap((key) => foreignKey(key, byPath)) };
  });
}

const nameWithSchema = (table: ListedTable | undefined): string => partsOf(table?.written ?? '').join('.');

/** Keys name their target with its schema, which lists leave out where it goes without saying. */
function foreignKey({ column, target, references }: DescribedKey, byPath: ReadonlyMap<string, string>): ForeignKey[] {
  const table = byPath.get(target.join('.')) ?? byPath.get(target.at(-1) ?? '');
  return table === undefined ? [] : [{ column, table, references }];
}

interface ListedTable {
  /** As statements and `describe_table` name it. */
  readonly written: string;
  /** Undefined where the data source has no estimate. */
  readonly rows: number | undefined;
}

const noTables = '(no tables are available)';

/** Parses the text of `list_tables`; undefined if it is an explanation and no list. */
export function readTableList(text: string): ListedTable[] | undefined {
  if (text.startsWith(noTables)) return [];
  const tables: ListedTable[] = [];
  for (let at = 0; at < text.length; at = afterLine(text, at)) {
    const written = nameAt(text, at);
    const columns = written === undefined ? undefined : namesAt(text, at + written.length);
    if (written === undefined || !columns) continue;
    at = columns.end;
    const rows = /^ about (\d+) rows/.exec(text.slice(at, at + 40))?.[1];
    tables.push({ written, rows: rows === undefined ? undefined : Number(rows) });
  }
  return tables.length > 0 ? tables : undefined;
}

interface DescribedTable extends Pick<Table, 'isView' | 'columns' | 'primaryKey' | 'compositeKeyColumns'> {
  readonly keys: readonly DescribedKey[];
}

/** One column of a table that holds one of another. */
interface DescribedKey {
  readonly column: string;
  readonly target: readonly string[];
  readonly references: string;
}

/** Parses the text of `describe_table` line by line; lines that are no column and no key are ignored. */
export function readDescription(text: string): DescribedTable {
  const columns: Column[] = [];
  const others: number[] = [];
  for (let at = afterLine(text, 0); at < text.length; at = afterLine(text, at)) {
    if (text.startsWith('- ', at)) {
      const name = nameAt(text, at + 2) ?? '';
      at += 2 + name.length;
      const column = readColumn(name, text.slice(at, afterLine(text, at)));
      if (column) columns.push(column);
    } else others.push(at);
  }
  const [primary] = others.filter((at) => text.startsWith(namesRows, at));
  const primaryKey = primary === undefined ? undefined : namesAt(text, primary + namesRows.length)?.names;
  const keys = others.map((at) => readKey(text, at));
  return {
    columns,
    ...(primaryKey && { primaryKey }),
    keys: keys.flatMap(({ key }) => key ?? []),
    compositeKeyColumns: keys.flatMap(({ names, key }) => (key ? [] : names)),
    ...(text.startsWith('view ') && { isView: true }),
  };
}

function readColumn(written: string, rest: string): Column | undefined {
  const facts = rest.replace(/ -- .*$/s, '');
  const own = /^: ([^,\n]*)/.exec(facts)?.[1];
  const [name] = partsOf(written);
  if (own === undefined || name === undefined) return undefined;
  // A domain is an organization's own name for a type.
  const type = (/, stored as ([^,\n]+)/.exec(facts)?.[1] ?? own).trim();
  // Types with a list of labels are the organization's own.
  const kind = facts.includes(", one of '") ? 'text' : kindOf(type);
  return {
    name,
    kind,
    ...(kind === 'date' && /^timestamp/i.test(type) && { hasTime: true as const }),
    ...(/, never empty(,|$)/m.test(facts) && { isNeverEmpty: true as const }),
  };
}

const namesRows = 'primary key ';
const leadsTo = ' refers to ';

/** The columns of a key, and the one that they refer to: those of several columns lead to rows that no single one of them names. */
function readKey(text: string, at: number): { readonly names: readonly string[]; readonly key?: DescribedKey } {
  const from = namesAt(text, at);
  if (!from || !text.startsWith(leadsTo, from.end)) return { names: [] };
  const { names } = from;
  const target = nameAt(text, from.end + leadsTo.length);
  const to = target === undefined ? undefined : namesAt(text, from.end + leadsTo.length + target.length + 1);
  const [column, references] = [names[0], to?.names[0]];
  if (target === undefined || column === undefined || references === undefined || names.length > 1) return { names };
  return { names, key: { column, target: partsOf(target), references } };
}

function afterLine(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end + 1;
}

const part = String.raw`(?:"(?:[^"]|"")*"|[^\s"().,:|]+)`;
const nameHere = new RegExp(String.raw`${part}(?:\.${part})?`, 'y');

/** The name at a position of a text, as statements write it; quoted names may contain any character, also line ends. */
function nameAt(text: string, at: number): string | undefined {
  nameHere.lastIndex = at;
  return nameHere.exec(text)?.[0];
}

/** `(a, "b c")` at a position of a text, and its end. */
function namesAt(text: string, at: number): { names: string[]; end: number } | undefined {
  if (text[at] !== '(') return undefined;
  const names: string[] = [];
  for (let next = at + 1; ; ) {
    const name = nameAt(text, next);
    if (name === undefined) return undefined;
    names.push(unquoted(name));
    next += name.length;
    if (text[next] === ')') return { names, end: next + 1 };
    if (!text.startsWith(', ', next)) return undefined;
    next += 2;
  }
}

/** The parts of `sales."Order lines"`. */
const partsOf = (written: string): string[] => [...written.matchAll(new RegExp(part, 'g'))].map(([one]) => unquoted(one));

const unquoted = (name: string): string => (name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name);

/** Rows of a query, as text; null for what is empty. */
export interface Rows {
  readonly rows: readonly (readonly (string | null)[])[];
  /** There are more than these. */
  readonly truncated: boolean;
}

const endOfRows = /^\((?:the first )?\d+ rows?(?:; there are more\b.*)?\)$/;

/** Parses the text of `query`: a header, a line for each row, and their number; undefined if it is an explanation. */
export function readRows(text: string): Rows | undefined {
  if (text === '(no rows)') return { rows: [], truncated: false };
  const lines = text.split('\n');
  const end = lines.at(-1) ?? '';
  if (lines.length < 2 || !endOfRows.test(end)) return undefined;
  return { rows: lines.slice(1, -1).map((line) => line.split(' | ').map(readCell)), truncated: end.startsWith('(the first') };
}

const escapes: Readonly<Record<string, string>> = { n: '\n', r: '\r' };

function readCell(cell: string): string | null {
  return cell === 'NULL' ? null : cell.replace(/\\(.)/g, (_, character: string) => escapes[character] ?? character);
}
