import { z } from 'zod';
import type { BusinessData, QueryOptions, QueryResult } from './business-data.ts';
import { inexactNumber, maxChangedRows } from './change.ts';
import { DataFailure } from './failure.ts';
import { describeTable as describe, describeMissing, describeTables, isExact } from './results.ts';

export interface ToolResult {
  /** For the model. */
  readonly text: string;
  /** Why there is no result; the text says the same. */
  readonly failure?: DataFailure;
  readonly result?: QueryResult;
}

/** A tool of a model over one agent's data. Models get no connection. */
export interface DataTool extends ToolDefinition {
  /** A mistake of the model or a failure of the data source is part of the result and not thrown. Throws when cancelled. */
  run(input: unknown, options?: QueryOptions): Promise<ToolResult>;
}

/** The properties of a tool that are the same for all tenants. */
export interface ToolDefinition {
  readonly name: 'list_tables' | 'describe_table' | 'query' | 'change';
  readonly description: string;
  readonly input: z.ZodType;
  /** True when it may change data, and so must be claimed before it runs. */
  readonly writes: boolean;
}

interface Kind extends ToolDefinition {
  over(data: BusinessData, raw: unknown, options: QueryOptions | undefined): Promise<ToolResult>;
}

interface Definition<Input> {
  readonly name: ToolDefinition['name'];
  readonly description: string;
  readonly input: z.ZodType<Input>;
  readonly writes?: boolean;
  run(data: BusinessData, input: Input, options: QueryOptions | undefined): Promise<ToolResult>;
}

function tool<Input>({ name, description, input, writes = false, run }: Definition<Input>): Kind {
  return {
    name,
    description,
    input,
    writes,
    async over(data, raw, options) {
      const parsed = input.safeParse(raw);
      if (!parsed.success) return invalidInput(name, parsed.error);
      try {
        return await run(data, parsed.data, options);
      } catch (cause) {
        if (!(cause instanceof DataFailure) || cause.kind === 'cancelled') throw cause;
        return { text: cause.message, failure: cause };
      }
    },
  };
}

export const toolRefusal = (text: string): ToolResult => ({ text, failure: new DataFailure('refused', text) });

export const invalidInput = (tool: string, error: z.ZodError): ToolResult =>
  toolRefusal(`The input of ${tool} is not valid: ${z.prettifyError(error)}`);

const toResult = (result: QueryResult): ToolResult => ({ text: result.text, result });

const listTables = tool({
  name: 'list_tables',
  description: 'Lists the tables that can be read, with their columns.',
  input: z.object({}),
  async run(data) {
    const { tables, missing } = await data.listTables();
    return { text: describeTables(tables) + (missing.length === 0 ? '' : `\n(${describeMissing(missing)})`) };
  },
});

const describeTable = tool({
  name: 'describe_table',
  description: 'Describes one table: columns with types, primary key, references to other tables.',
  input: z.object({ table: z.string().min(1).max(200).describe('The name as list_tables writes it.') }),
  async run(data, { table }) {
    const match = await data.describeTable(table);
    return match ? { text: describe(match) } : toolRefusal(`There is no table "${table}" here.`);
  },
});

const query = tool({
  name: 'query',
  description: 'Runs one PostgreSQL SELECT over the tables that can be read and returns its first rows. Aggregate in SQL where possible.',
  input: z.object({ sql: z.string().min(1).max(16_000).describe('Exactly one SELECT statement.') }),
  run: async (data, { sql }, options) => toResult(await data.query(sql, options)),
});

const exactness = 'Numbers of more than 15 digits are written as strings, all digits in quotes: {"id": "9007199254740993"}.';

const cell = z
  .union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.unknown()), z.record(z.string(), z.unknown())])
  .refine(isExact, inexactNumber);
const cells = z.record(z.string().max(200), cell).describe(`Values by column. ${exactness}`);

const change = tool({
  name: 'change',
  description: `Inserts, updates or deletes up to ${maxChangedRows} rows of one table, all or none. Rows are named by their primary key. ${exactness}`,
  writes: true,
  input: z.object({
    table: z.string().min(1).max(200),
    operation: z.enum(['insert', 'update', 'delete']),
    rows: z
      .array(z.object({ key: cells.optional(), values: cells.optional() }))
      .min(1)
      .max(maxChangedRows),
  }),
  run: async (data, request, options) => toResult(await data.change(request, options)),
});

const kinds: readonly Kind[] = [listTables, describeTable, query, change];

/** All tools that there are. */
export const toolDefinitions: readonly ToolDefinition[] = kinds;

/** The tools over an agent's data; `change` only where the scope is not read-only. */
export function createTools(data: BusinessData, { readOnly }: { readonly readOnly: boolean }): readonly DataTool[] {
  return kinds
    .filter(({ writes }) => !(writes && readOnly))
    .map(({ over, ...definition }) => ({ ...definition, run: (input, options) => over(data, input, options) }));
}
