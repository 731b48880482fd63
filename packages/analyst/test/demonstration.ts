import { type BusinessData, createBusinessData, createStatementGate } from '@agent-service/business-data';
import { createDataSource } from '@agent-service/business-data/data-source';
import { createTools } from '@agent-service/business-data/tools';
import { bringUpDemonstration } from '@agent-service/local/demonstration/database';
import { tables } from '@agent-service/local/demonstration/schema';
import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { Client } from 'pg';
import type { Output } from '../src/answer/presentation.ts';
import { answerQuestion } from '../src/answer-question.ts';
import type { Tool } from '../src/tools.ts';

export interface Demonstration {
  readonly data: BusinessData;
  readonly tools: readonly Tool[];
  /** Runs a statement without the gates and returns its rows as text. */
  rows(sql: string): Promise<(string | null)[][]>;
  ask(message: string, options?: Options): Promise<string>;
  stop(): Promise<void>;
}

interface Options {
  readonly source?: string;
  readonly earlier?: readonly string[];
  readonly output?: Output;
  readonly tools?: readonly Tool[];
}

/** The demonstration company with the tools of a model; its dates are relative to the current day. */
export async function demonstration(): Promise<Demonstration> {
  const database = await testDatabase();
  const [[today]] = (await oneOff(database.url, 'select current_date::text')) as [[string]];
  const url = await bringUpDemonstration({ adminUrl: database.url, readerPassword: 'reader', today });
  return open(database, url, Object.keys(tables));
}

/** A company with the tables that these statements make, each as the scope has it, and an agent that is meant to read further ones. */
export async function companyOf(
  statements: string,
  further: readonly string[] = [],
  inScope = (name: string): string => name,
): Promise<Demonstration> {
  const database = await testDatabase();
  await oneOff(database.url, statements);
  const names = await oneOff(database.url, "select table_name from information_schema.tables where table_schema = 'public' order by 1");
  return open(database, database.url, [...names.map(([name]) => inScope(name as string)), ...further]);
}

function open(database: TestDatabase, url: string, scope: readonly string[]): Demonstration {
  const lost: unknown[] = [];
  const source = createDataSource({ url, poolMax: 4 }, (cause) => lost.push(cause));
  const gate = createStatementGate();
  const data = createBusinessData({ source, gate: gate.of('demonstration'), scope: { tables: scope, readOnly: true } });
  const tools = toolsOf(data);
  return {
    data,
    tools,
    rows: async (sql) => await oneOff(url, sql),
    // As in a worker, questions about a company share an index of its values.
    ask: async (message, options) => await askBuiltIn(message, { tools, source: url, ...options }),
    async stop() {
      await Promise.all([source.close(), gate.close()]);
      await database.drop();
    },
  };
}

const toolsOf = (data: BusinessData): Tool[] =>
  createTools(data, { readOnly: true }).map((tool) => ({
    name: tool.name,
    run: async (input, signal) => (await tool.run(input, { signal })).text,
  }));

export async function askBuiltIn(
  message: string,
  { tools = [], source, earlier = [], output = { format: 'markdown', charts: false } }: Options,
): Promise<string> {
  return (await answerQuestion({ message, source, earlier, output, tools }, AbortSignal.timeout(20_000))).content;
}

async function oneOff(connectionString: string, sql: string): Promise<(string | null)[][]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const types = { getTypeParser: () => (text: string) => text };
    return (await client.query({ text: sql, rowMode: 'array', types })).rows;
  } finally {
    await client.end();
  }
}

/** The content of an answer that is one fenced block of JSON. */
export function jsonOf(answer: string): unknown {
  const block = /^```json\n([\s\S]*)\n```$/.exec(answer)?.[1];
  if (block === undefined || /^```/m.test(block)) throw new Error(`no single block of JSON: ${answer}`);
  return JSON.parse(block);
}

/** The rows of the first table in an answer, with numbers as a program writes them; `–` is no value. */
export function tableOf(answer: string): (string | null)[][] {
  const lines = answer.split('\n').filter((line) => line.startsWith('| '));
  return lines.slice(2).map((line) =>
    line
      .slice(2, -2)
      .split(' | ')
      .map((cell) => (cell === '–' ? null : /^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(cell) ? cell.replaceAll(',', '') : cell)),
  );
}
