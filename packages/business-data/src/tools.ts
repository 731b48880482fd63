import { z } from 'zod';
import type { BusinessData, QueryOptions, QueryResult } from './business-data.ts';
import { mostChangedRows } from './domain/change.ts';
import { describe, listed } from './domain/describe-table.ts';
import { DataFailure } from './source/failure.ts';

export interface ToolAnswer {
  /** For the model. */
  readonly text: string;
  /** Why there is no result; the text says it in words. */
  readonly failure?: DataFailure;
  readonly result?: QueryResult;
}

/** What a model is given instead of a connection. */
export interface DataTool {
  readonly name: 'list_tables' | 'describe_table' | 'query' | 'change';
  readonly description: string;
  readonly input: z.ZodType;
  /** Whether it may change data, and so must be claimed before it runs. */
  readonly writes: boolean;
  /** Never throws for what the model did wrong or the data source could not do: that is its answer. Throws when cancelled. */
  run(input: unknown, options?: QueryOptions): Promise<ToolAnswer>;
}

interface Definition<Input> {
  readonly name: DataTool['name'];
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly writes?: boolean;
  run(input: Input, options: QueryOptions | undefined): Promise<ToolAnswer>;
}

function tool<Input>({ name, description, input, writes = false, run }: Definition<Input>): DataTool {
  return {
    name,
    description,
    input,
    writes,
    async run(raw, options) {
      const parsed = input.safeParse(raw);
      if (!parsed.success) return refused(`The input of ${name} is not valid: ${z.prettifyError(parsed.error)}`);
      try {
        return await run(parsed.data, options);
      } catch (cause) {
        if (!(cause instanceof DataFailure) || cause.kind === 'cancelled') throw cause;
        return { text: cause.message, failure: cause };
      }
    },
  };
}

function refused(text: string): ToolAnswer {
  return { text, failure: new DataFailure('refused', text) };
}

const shown = (result: QueryResult): ToolAnswer => ({ text: result.text, result });

/** The tools over an agent's data; `change` only where the scope is not read-only. */
export function createTools(data: BusinessData, { readOnly }: { readonly readOnly: boolean }): readonly DataTool[] {
  return [listTables(data), describeTable(data), query(data), ...(readOnly ? [] : [change(data)])];
}

const listTables = (data: BusinessData) =>
  tool({
    name: 'list_tables',
    description: 'Lists the tables that can be read, with their columns.',
    input: z.object({}),
    run: async () => ({ text: listed(await data.listTables()) }),
  });

const describeTable = (data: BusinessData) =>
  tool({
    name: 'describe_table',
    description: 'Describes one table: columns with types, primary key, references to other tables.',
    input: z.object({ table: z.string().min(1).max(200).describe('The name as list_tables writes it.') }),
    async run({ table }) {
      const found = await data.describeTable(table);
      return found ? { text: describe(found) } : refused(`There is no table "${table}" here.`);
    },
  });

const query = (data: BusinessData) =>
  tool({
    name: 'query',
    description: 'Runs one PostgreSQL SELECT over the tables that can be read and returns its first rows. Aggregate in SQL where possible.',
    input: z.object({ sql: z.string().min(1).max(16_000).describe('Exactly one SELECT statement.') }),
    run: async ({ sql }, options) => shown(await data.query(sql, options)),
  });

const cell = z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.unknown()), z.record(z.string(), z.unknown())]);
const cells = z.record(z.string().max(200), cell);

const change = (data: BusinessData) =>
  tool({
    name: 'change',
    description: `Inserts, updates or deletes up to ${mostChangedRows} rows of one table, all or none. Rows are named by their primary key.`,
    writes: true,
    input: z.object({
      table: z.string().min(1).max(200),
      operation: z.enum(['insert', 'update', 'delete']),
      rows: z
        .array(z.object({ key: cells.optional(), values: cells.optional() }))
        .min(1)
        .max(mostChangedRows),
    }),
    run: async (request, options) => shown(await data.change(request, options)),
  });
