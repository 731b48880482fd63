import type { QueryResult, ToolResult } from '@agent-service/business-data';
import type { AnswerMessage } from '@agent-service/contracts';
import { isWithinDepth, maxJsonDepth } from '@agent-service/contracts/json-values';
import { fencedBlock } from '@agent-service/contracts/text';

/** A call of a tool. */
export interface StepRecord {
  readonly name: string;
  /** Empty where the statement of its query says the same. */
  readonly detail: string;
  readonly rows: number;
  readonly durationMs: number;
  readonly error: string;
  /** The position of its query, from 1; 0 where it made none. */
  readonly query: number;
}

/** The result of a query as callers get it. */
export interface ResultRecord {
  readonly columns: QueryResult['columns'];
  readonly rows: QueryResult['rows'];
  readonly row_count: number;
  readonly truncated: boolean;
}

interface Step {
  readonly name: string;
  readonly input: unknown;
  readonly toolResult: ToolResult;
  readonly durationMs: number;
  /** True for a step before the question is understood. It is recorded with its statement, but not as a query of the answer. */
  readonly isPreparation?: boolean | undefined;
}

/** The steps of an attempt. Texts are cut where all of them together would not fit into a call beside the longest content. */
export class StepLog {
  readonly queries: AnswerMessage['queries'] = [];
  readonly steps: StepRecord[] = [];
  #result: ResultRecord | undefined;
  #room = maxTextLength;

  /** The result of the last query. */
  get result(): ResultRecord | undefined {
    return this.#result;
  }

  add({ name, input, toolResult: { result, failure }, durationMs, isPreparation = false }: Step): void {
    // A model is called at most a dozen times, and each of its outputs has at most sixteen calls.
    if (this.steps.length >= maxSteps) return;
    const rows = result?.rows.length ?? 0;
    const rounded = Math.max(0, Math.round(durationMs));
    const isListed = result !== undefined && !isPreparation;
    if (isListed) {
      const statement = this.#fit(statementIn(name, input) ?? result.statement);
      this.queries.push({ statement, tables: [...result.tables], rows, durationMs: Math.max(0, Math.round(result.durationMs)) });
    }
    const isQuery = isListed && name === 'query';
    const detail = isQuery ? '' : this.#fit(detailOf(name, input));
    const error = this.#fit((failure?.message ?? '').slice(0, maxErrorLength));
    this.steps.push({ name, detail, rows, durationMs: rounded, error, query: isListed ? this.queries.length : 0 });
    if (isQuery) this.#result = toResultRecord(result);
  }

  /** The text, or as much of it as there is room for. */
  #fit(text: string): string {
    const fitting = text.length <= this.#room ? text : `${text.slice(0, Math.max(0, this.#room - ellipsis.length))}${ellipsis}`;
    this.#room = Math.max(0, this.#room - fitting.length);
    return fitting.toWellFormed();
  }
}

export const maxSteps = 200;
/** UTF-16 units of all statements, details and errors. */
export const maxTextLength = 400_000;
const maxErrorLength = 1_000;
const ellipsis = ' …';

/** The statement as the model wrote it. The one that runs names every column in scope. */
function statementIn(name: string, input: unknown): string | undefined {
  const { sql } = name === 'query' ? (input as { sql?: unknown }) : {};
  return typeof sql === 'string' ? sql : undefined;
}

/** Bytes of the JSON of all rows. */
const maxRowBytes = 32 * 1024;

/** The first rows that fit. Their names and types are bounded by the columns of a SELECT. */
function toResultRecord({ columns, rows, truncated }: QueryResult): ResultRecord | undefined {
  let room = maxRowBytes - Buffer.byteLength(JSON.stringify(columns));
  if (room < 0) return undefined;
  const fitting: QueryResult['rows'][number][] = [];
  for (const row of rows) {
    room -= Buffer.byteLength(JSON.stringify(row)) + 1;
    if (room < 0) break;
    fitting.push(row);
  }
  return { columns, rows: fitting, row_count: rows.length, truncated: truncated || fitting.length < rows.length };
}

const chartOpening = /^```vega-lite[ \t]*\n/m;
const chartClosing = /^```[ \t]*$/;
const maxChartLength = 32 * 1024;

/** The specification of the first chart in an answer; null without one. */
export function chartIn(content: string): Readonly<Record<string, unknown>> | null {
  const text = fencedBlock(content, chartOpening, chartClosing) ?? '';
  if (text === '' || text.length > maxChartLength) return null;
  try {
    const chart: unknown = JSON.parse(text);
    const isObject = typeof chart === 'object' && chart !== null && !Array.isArray(chart);
    return isObject && isWithinDepth(chart, maxJsonDepth) ? (chart as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

const maxDetailLength = 2_000;

/** The input of a tool for readers of the stream: the statement, the table, or the change without its values. */
export function detailOf(tool: string, input: unknown): string {
  return detail(tool, fieldsOf(input)).slice(0, maxDetailLength).toWellFormed();
}

function detail(tool: string, { sql, table, operation, rows }: Readonly<Record<string, unknown>>): string {
  if (tool === 'query') return text(sql).trim();
  if (tool === 'describe_table') return text(table);
  if (tool !== 'change') return '';
  const count = Array.isArray(rows) ? rows.length : 0;
  return `${text(operation)} ${text(table)} (${count} ${count === 1 ? 'row' : 'rows'})`;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The parts of a change that the audit log records. */
export interface ChangeParts {
  readonly operation: string;
  readonly table: string;
  readonly rows: number;
}

/** The parts in the input of a change. The model may have given any input. */
export function changeOf(input: unknown): ChangeParts {
  const { operation, table, rows } = fieldsOf(input);
  return {
    operation: text(operation).slice(0, maxDetailLength),
    table: text(table).slice(0, maxDetailLength),
    rows: Array.isArray(rows) ? rows.length : 0,
  };
}

/** UTF-16 units of the keys in an audit entry. */
export const maxKeysLength = 4_000;

/**
 * The primary keys in the input of a change, as a JSON array of the first ones that fit. Empty where the input has none, and for an insert,
 * whose keys the database makes.
 */
export function keysOf(input: unknown): string {
  const { operation, rows } = fieldsOf(input);
  if ((operation !== 'update' && operation !== 'delete') || !Array.isArray(rows)) return '';
  let keys = '';
  for (const row of rows) {
    const { key } = fieldsOf(row);
    const more = `${keys === '' ? '' : `${keys},`}${JSON.stringify(fieldsOf(key))}`;
    if (more.length + 2 > maxKeysLength) break;
    keys = more;
  }
  return keys === '' ? '' : `[${keys}]`;
}

const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
