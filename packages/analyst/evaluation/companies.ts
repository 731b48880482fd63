import { readFileSync } from 'node:fs';
import { createBusinessData, createStatementGate } from '@agent-service/business-data';
import { createDataSource } from '@agent-service/business-data/data-source';
import { createTools } from '@agent-service/business-data/tools';
import { bringUpDemonstration } from '@agent-service/local/demonstration/database';
import { Client } from 'pg';
import type { Tool } from '../src/tools.ts';
import type { Row } from './judge.ts';
import type { Company } from './questions.ts';

/** A company's data with the tools of a model, and statements beside them that pass no gate. */
export interface OpenCompany {
  readonly tools: readonly Tool[];
  rows(sql: string): Promise<Row[]>;
  stop(): Promise<void>;
}

/** An empty database on a server where roles and further databases may be made. `drop` removes it. */
export type MakeDatabase = () => Promise<{ readonly url: string; drop(): Promise<void> }>;

/** The days of all companies are relative to the current one. */
export async function openCompany(company: Company, makeDatabase: MakeDatabase): Promise<OpenCompany> {
  const database = await makeDatabase();
  const url = company === 'demonstration' ? await makeDemonstration(database.url) : await makeCompany(company, database.url);
  const tables = await textRows(url, "select table_name from information_schema.tables where table_schema = 'public' order by 1");
  const lost: unknown[] = [];
  const source = createDataSource({ url, poolMax: 2 }, (cause) => lost.push(cause));
  const gate = createStatementGate();
  const scope = { tables: tables.map(([name]) => name as string), readOnly: true };
  const data = createBusinessData({ source, gate: gate.of(company), scope });
  return {
    tools: createTools(data, { readOnly: true }).map((tool) => ({
      name: tool.name,
      run: async (input, signal) => (await tool.run(input, { signal })).text,
    })),
    rows: async (sql) => await textRows(url, sql),
    async stop() {
      await Promise.all([source.close(), gate.close()]);
      await database.drop();
    },
  };
}

async function makeDemonstration(adminUrl: string): Promise<string> {
  const [[today]] = (await textRows(adminUrl, 'select current_date::text')) as [[string]];
  return await bringUpDemonstration({ adminUrl, readerPassword: 'reader', today });
}

async function makeCompany(company: Company, url: string): Promise<string> {
  const statements = readFileSync(new URL(`./${company}/schema.sql`, import.meta.url), 'utf8');
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    // The data source must not log in as a superuser.
    const reader = new URL(url);
    [reader.username, reader.password] = [`${reader.pathname.slice(1, 40)}_reader`, 'reader'];
    await client.query(statements);
    await client.query(`create role ${client.escapeIdentifier(reader.username)} login password 'reader'`);
    await client.query(`grant select on all tables in schema public to ${client.escapeIdentifier(reader.username)}`);
    await client.query('analyze');
    return reader.href;
  } finally {
    await client.end();
  }
}

async function textRows(connectionString: string, text: string): Promise<Row[]> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const types = { getTypeParser: () => (value: string) => value };
    return (await client.query({ text, rowMode: 'array', types })).rows;
  } finally {
    await client.end();
  }
}
