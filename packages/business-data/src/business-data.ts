import { buildChange, type ChangeRequest } from './change.ts';
import type { DataSource } from './data-source.ts';
import type { Limits, RawResult } from './database/transaction.ts';
import { DataFailure, Refusal } from './failure.ts';
import type { TenantBudget } from './result-budget.ts';
import { formatRows, toValue, type Value, type ValueType, valueTypeOf } from './results.ts';
import type { Catalog } from './scope/catalog.ts';
import { type DataScope, type Resolution, resolveScope } from './scope/resolve-scope.ts';
import { findWritten, type ResolvedScope, type ScopedTable } from './scope/scope.ts';
import type { TenantGate } from './threads/statement-gate.ts';

export interface QueryOptions {
  readonly signal?: AbortSignal | undefined;
  readonly maxRows?: number;
  readonly maxBytes?: number;
  readonly timeoutMs?: number;
}

interface ResultColumn {
  readonly name: string;
  readonly type: ValueType;
}

export interface QueryResult {
  readonly columns: readonly ResultColumn[];
  readonly rows: readonly (readonly Value[])[];
  /** There are more rows than the limits allow. */
  readonly truncated: boolean;
  /** The tables that were read or changed. */
  readonly tables: readonly string[];
  /** The statement that ran, after rewriting. */
  readonly statement: string;
  readonly durationMs: number;
  /** The same rows for a model to read. */
  readonly text: string;
}

/** An organization's data as far as one agent may see it. */
export interface BusinessData {
  /** The tables in scope, and the entries of the scope that the data source does not have. */
  listTables(): Promise<{ readonly tables: readonly ScopedTable[]; readonly missing: readonly string[] }>;
  /** By the name that `listTables` gives; undefined when it is not in scope. */
  describeTable(name: string): Promise<ScopedTable | undefined>;
  query(sql: string, options?: QueryOptions): Promise<QueryResult>;
  change(request: ChangeRequest, options?: QueryOptions): Promise<QueryResult>;
}

export interface BusinessDataOptions {
  readonly source: DataSource;
  /** Checks and rewrites the statements before they run. */
  readonly gate: TenantGate;
  /** Bounds the bytes of results that this process holds; unbounded without it. */
  readonly budget?: TenantBudget;
  readonly scope: DataScope;
  /** The time zone of "today" in the organization's data. */
  readonly timeZone?: string;
}

/** Limits of one query or change. Its length and cost are limited before it runs: gates/parse.ts, threads/thread.ts. */
export const queryLimits = { maxRows: 100, maxBytes: 1024 * 1024, timeoutMs: 10_000 };

export function createBusinessData({ source, gate, budget, scope, timeZone = 'UTC' }: BusinessDataOptions): BusinessData {
  const readScope = async (): Promise<Resolution & { readonly catalog: Catalog }> => {
    const catalog = await source.catalog();
    return { catalog, ...resolveScope(catalog, scope) };
  };
  const resolve = async (): Promise<ResolvedScope> => (await readScope()).scope;
  /** Runs the work within the limits, with its share of the budget until the result is complete. */
  const withLimits = async <T>(options: QueryOptions, work: (limits: Limits) => Promise<T>): Promise<T> => {
    const use = budget?.open();
    try {
      return await work({ ...queryLimits, ...options, timeZone, use });
    } finally {
      use?.release();
    }
  };
  return {
    async listTables() {
      const { scope: resolved, missing } = await readScope();
      return { tables: resolved.tables, missing };
    },
    describeTable: async (name) => findWritten(await resolve(), name),
    async query(sql, options = {}) {
      const resolved = await resolve();
      const { text, tables } = await gate.pass(sql, resolved, options.signal);
      const begin = performance.now();
      return await withLimits(options, async (limits) => {
        const result = await source.within(resolved).transaction('read only', limits, (run) => run(text));
        return present(result, { statement: text, tables, begin });
      });
    },
    async change(request, options = {}) {
      const { catalog, scope: resolved } = await readScope();
      const { table, statements } = translateRefusal(() => buildChange(resolved, catalog, request));
      const begin = performance.now();
      return await withLimits(options, async (limits) => {
        const results = await source.within(resolved).transaction('read write', limits, async (run) => {
          const changed: RawResult[] = [];
          for (const { text, values } of statements) changed.push(requireOneRow(await run(text, values), request.operation));
          return changed;
        });
        const all: RawResult = { columns: results[0]?.columns ?? [], rows: results.flatMap(({ rows }) => rows), more: false };
        return present(all, { statement: statements[0]?.text ?? '', tables: [table], begin });
      });
    },
  };
}

function translateRefusal<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof Refusal) throw new DataFailure('refused', cause.message, cause);
    throw cause;
  }
}

function requireOneRow(result: RawResult, operation: ChangeRequest['operation']): RawResult {
  if (result.rows.length === 1 && !result.more) return result;
  // A trigger or a rule may drop an insert, or make something else of it.
  const cause = operation === 'insert' ? 'The data source did not take the row' : 'There is no row with this key';
  throw new DataFailure('failed', `${cause}; nothing was changed.`);
}

interface Execution {
  readonly statement: string;
  readonly tables: readonly ScopedTable[];
  readonly begin: number;
}

function present(result: RawResult, { statement, tables, begin }: Execution): QueryResult {
  const columns = result.columns.map(({ name, typeId }) => ({ name, type: valueTypeOf(typeId) }));
  const names = columns.map(({ name }) => name);
  return {
    columns,
    rows: result.rows.map((row) => row.map((cell, index) => toValue(cell, columns[index]?.type ?? 'text'))),
    truncated: result.more,
    tables: tables.map(({ written }) => written),
    statement,
    durationMs: performance.now() - begin,
    text: formatRows({ columns: names, rows: result.rows, truncated: result.more }),
  };
}
