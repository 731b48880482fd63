import type { Title } from './statement.ts';

/** The format of the answer. With charts it may contain fenced `vega-lite` blocks over queried rows, which text and JSON cannot contain. */
export type Output =
  | { readonly format: 'markdown' | 'table'; readonly charts: boolean }
  | { readonly format: 'text' | 'json'; readonly charts: false };

type Cell = string | number | boolean | null;

export interface Result {
  readonly columns: readonly Title[];
  readonly rows: readonly (readonly Cell[])[];
  /** How many rows there are in all, where that is known. */
  readonly rowCount?: number;
  /** There were more rows than are here. */
  readonly truncated: boolean;
}

export type Outcome = 'answered' | 'refused' | 'unreadable';

/** An answer for people, and the same for programs. */
export interface Reply {
  readonly outcome: Outcome;
  readonly text: string;
  readonly result?: Result;
  readonly members: Readonly<Record<string, unknown>>;
}

/** A reply without rows. */
export const messageReply = (message: string, outcome: Outcome = 'refused'): Reply => ({ outcome, text: message, members: { message } });

export const fencedBlock = (language: 'json' | 'vega-lite', value: unknown): string =>
  `\`\`\`${language}\n${JSON.stringify(value, null, 2)}\n\`\`\``;

interface About {
  /** The rows that were counted, in words. */
  readonly counted: string;
  /** The readings that the question left open. */
  readonly assumed: readonly string[];
  /** Further lines, such as a difference or an unfinished period. */
  readonly notes: readonly string[];
  /** The number of columns that name the groups. */
  readonly groups: number;
  readonly locale: string;
}

/** Formats the result by the agent's preferences. */
export function present(data: Result, { counted, assumed, notes, groups, locale }: About, { format, charts }: Output): Reply {
  const chart = charts && groups > 0 ? chartOf(data, groups) : undefined;
  const text = [
    bodyOf(data, format, locale),
    moreOf(data),
    chart ? fencedBlock('vega-lite', chart) : '',
    ...notes.map((note) => `${note}.`),
    `Counted: ${counted}.`,
    assumed.length > 0 ? `Assumed: ${assumed.join('; ')}.` : '',
  ];
  const members = {
    rows: data.rows.map((row) => Object.fromEntries(data.columns.map((column, index) => [column.title, jsonCell(row[index], column)]))),
    truncated: data.truncated,
    ...(data.rowCount !== undefined && { row_count: data.rowCount }),
    counted,
    ...(assumed.length > 0 && { assumed }),
    ...(notes.length > 0 && { notes }),
  };
  return { outcome: 'answered', text: text.filter(Boolean).join('\n\n'), members, result: data };
}

/** How many rows there are, and how to see the others. */
function moreOf({ rows, rowCount, truncated }: Result): string {
  if (!truncated) return '';
  const all = rowCount === undefined ? '' : ` of ${rowCount}`;
  return `These are the first ${rows.length}${all}; there are more. Narrow the question, by a period or a value, or ask for a figure of them.`;
}

function bodyOf({ columns, rows }: Result, format: Output['format'], locale: string): string {
  if (rows.length === 0) return 'There are no rows that fit.';
  const textOf = (cell: Cell | undefined, index: number) => displayCell(cell, columns[index], locale);
  if (format === 'text')
    return rows.map((row) => columns.map(({ title }, index) => `${title}: ${textOf(row[index], index)}`).join(', ')).join('\n');
  const single =
    rows.length === 1 && columns.length === 1 && format === 'markdown'
      ? `**${capital(columns[0]?.title ?? '')}: ${textOf(rows[0]?.[0], 0)}**\n\n`
      : '';
  return `${single}${tableOf(columns, rows, textOf)}`;
}

/** Numbers come as text; those that a JSON number holds without loss become one. */
function jsonCell(cell: Cell | undefined, { isText }: Title): Cell {
  if (cell === undefined || isText) return cell ?? null;
  return typeof cell === 'string' && isNumber(cell) && cell.length <= 15 && !/^-?0\d/.test(cell) ? Number(cell) : cell;
}

const capital = (text: string) => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;

/** Formats accept no more. */
const maxDecimals = 100;

/** Numbers of a known unit are written as the locale does; others, such as ids, as they are. */
export function displayCell(cell: Cell | undefined, column: Title | undefined, locale: string): string {
  if (cell === null || cell === undefined) return '–';
  if (!column?.unit || column.unit === 'time' || !isNumber(cell)) return String(cell);
  const [, fraction = '', exponent] = /^[^.e]*\.?(\d*)(?:e(.*))?$/.exec(String(cell)) ?? [];
  const exact = Math.max(0, fraction.length - Number(exponent ?? 0));
  if (exponent !== undefined && exact > maxDecimals) return String(cell);
  const decimals = Math.min(maxDecimals, exact);
  const style = column.currency ? ({ style: 'currency', currency: column.currency } as const) : {};
  return new Intl.NumberFormat(locale, { ...style, minimumFractionDigits: decimals, maximumFractionDigits: decimals }).format(
    String(cell) as `${number}`,
  );
}

/** The characters that begin markup in a cell. Within a word `_` does not, and `&` does only before what may be a character's name. */
const markup = /[\\`*[<~|]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|&(?=#?\w+;)/gu;
const escaped = (text: string) => text.replaceAll(/\s+/g, ' ').replace(markup, '\\$&');

function tableOf(columns: readonly Title[], rows: Result['rows'], textOf: (cell: Cell | undefined, index: number) => string): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |`;
  const numeric = columns.map((_, index) => rows.every((row) => isNumber(row[index])));
  return [
    line(columns.map(({ title }) => title)),
    line(numeric.map((right) => (right ? '---:' : '---'))),
    ...rows.map((row) => line(columns.map((_, index) => textOf(row[index], index)))),
  ].join('\n');
}

/** PostgreSQL writes floating-point numbers that are large or small with an exponent. */
const isNumber = (cell: Cell | undefined) =>
  typeof cell === 'number' || (typeof cell === 'string' && /^-?\d+(\.\d+)?(e[+-]\d{2,3})?$/.test(cell));

/** More bars than these say nothing. */
const maxBars = 30;

/** A chart of a figure for each of something: a line over time, else bars, the largest first. Lists and single figures have none. */
function chartOf({ columns, rows }: Result, groups: number): object | undefined {
  const [x, second] = columns;
  const y = columns[groups];
  if (!x || !y || rows.length < 2 || groups > 2 || !rows.every((row) => isNumber(row[groups]))) return undefined;
  const overTime = x.unit === 'time';
  if (!overTime && rows.length > maxBars) return undefined;
  const names = columns.slice(0, groups + 1);
  const unit = y.currency ?? { money: undefined, days: 'days', pieces: 'pieces', percent: '%', time: undefined }[y.unit ?? 'money'];
  const title = unit === undefined || y.title.includes(unit) ? y.title : `${y.title} (${unit})`;
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
    title: `${capital(y.title)} by ${names
      .slice(0, groups)
      .map((one) => one.title)
      .join(' and ')}`,
    data: {
      values: rows.map((row) =>
        Object.fromEntries(names.map((one, index) => [one.title, index === groups ? Number(row[index]) : String(row[index] ?? '–')])),
      ),
    },
    mark: overTime ? { type: 'line', point: true } : 'bar',
    encoding: {
      x: { field: x.title, type: 'ordinal', sort: null, title: capital(x.title) },
      y: { field: y.title, type: 'quantitative', title: capital(title) },
      ...(groups === 2 && second && { color: { field: second.title, type: 'nominal', title: capital(second.title) } }),
    },
  };
}
