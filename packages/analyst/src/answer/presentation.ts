/** The format of the answer. With charts it may contain fenced `vega-lite` blocks over queried rows, which text and JSON cannot contain. */
export type Output =
  | { readonly format: 'markdown' | 'table'; readonly charts: boolean }
  | { readonly format: 'text' | 'json'; readonly charts: false };

type Cell = string | number | boolean | null;

export interface Result {
  readonly titles: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
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
export const messageReply = (message: string): Reply => ({ outcome: 'refused', text: message, members: { message } });

export const fenced = (language: 'json' | 'vega-lite', value: unknown): string =>
  `\`\`\`${language}\n${JSON.stringify(value, null, 2)}\n\`\`\``;

interface About {
  /** The description of what was counted. */
  readonly counted: string;
  /** Words of the question that no part of the answer depends on. */
  readonly unplaced: readonly string[];
}

/** Formats the result by the agent's preferences. */
export function present({ titles, rows, truncated }: Result, { counted, unplaced }: About, { format, charts }: Output): Reply {
  const chart = charts ? chartOf(titles, rows) : undefined;
  const text = [
    bodyOf({ titles, rows, truncated }, format),
    truncated ? `These are the first ${rows.length}; there are more.` : '',
    chart ? fenced('vega-lite', chart) : '',
    `Counted: ${counted}.`,
    unplaced.length > 0 ? `I could not place: ${unplaced.join(', ')}.` : '',
  ];
  const members = {
    rows: rows.map((row) => Object.fromEntries(titles.map((title, index) => [title, jsonCell(row[index])]))),
    truncated,
    counted,
    ...(unplaced.length > 0 ? { unplaced } : {}),
  };
  return { outcome: 'answered', text: text.filter(Boolean).join('\n\n'), members, result: { titles, rows, truncated } };
}

function bodyOf({ titles, rows }: Result, format: Output['format']): string {
  if (rows.length === 0) return 'There are no rows that fit.';
  if (format === 'text') return rows.map((row) => titles.map((title, index) => `${title}: ${displayed(row[index])}`).join(', ')).join('\n');
  const single =
    rows.length === 1 && titles.length === 1 && format === 'markdown'
      ? `**${capital(titles[0] as string)}: ${displayed(rows[0]?.[0])}**\n\n`
      : '';
  return `${single}${tableOf(titles, rows)}`;
}

/** Numbers come as text; those that a JSON number holds without loss become one. */
function jsonCell(cell: Cell | undefined): Cell {
  if (cell === undefined) return null;
  return typeof cell === 'string' && isNumber(cell) && cell.length <= 15 && !/^-?0\d/.test(cell) ? Number(cell) : cell;
}

const capital = (text: string) => `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`;
const displayed = (cell: Cell | undefined): string => (cell === null || cell === undefined ? '–' : String(cell));
const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');

function tableOf(titles: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(' | ')} |`;
  const numeric = titles.map((_, index) => rows.every((row) => isNumber(row[index])));
  return [
    line(titles),
    line(numeric.map((right) => (right ? '---:' : '---'))),
    ...rows.map((row) => line(titles.map((_, index) => displayed(row[index])))),
  ].join('\n');
}

const isNumber = (cell: Cell | undefined) => typeof cell === 'number' || (typeof cell === 'string' && /^-?\d+(\.\d+)?$/.test(cell));

/** A chart of one number for each of something: a line over time, else bars. */
function chartOf(titles: readonly string[], rows: readonly (readonly Cell[])[]): object | undefined {
  const value = titles.findIndex((_, index) => index > 0 && rows.every((row) => isNumber(row[index])));
  if (rows.length < 2 || value < 0) return undefined;
  const [x, y] = [titles[0] as string, titles[value] as string];
  const overTime = /^(day|week|month|quarter|year)$/.test(x);
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v5.json',
    data: { values: rows.map((row) => ({ [x]: displayed(row[0]), [y]: Number(row[value]) })) },
    mark: overTime ? 'line' : 'bar',
    encoding: { x: { field: x, type: 'ordinal', sort: null }, y: { field: y, type: 'quantitative' } },
  };
}
