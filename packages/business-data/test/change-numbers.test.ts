import { type TestDatabase, testDatabase } from '@agent-service/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { z } from 'zod';
import { type BusinessData, createBusinessData } from '../src/business-data.ts';
import { createDataSource, type DataSource } from '../src/data-source.ts';
import { isExact } from '../src/results.ts';
import { createTools, type DataTool, type ToolResult } from '../src/tools.ts';
import { gate } from './support/gate.ts';

let database: TestDatabase;
let administrator: pg.Client;
let source: DataSource;
let data: BusinessData;
let tool: DataTool;

beforeAll(async () => {
  database = await testDatabase();
  administrator = new pg.Client({ connectionString: database.url });
  await administrator.connect();
  await administrator.query('create table events (id numeric primary key, big bigint, amount numeric, many numeric[], facts jsonb)');
  source = createDataSource({ url: database.url }, () => undefined);
  data = createBusinessData({ source, gate, scope: { tables: ['events'], readOnly: false } });
  tool = createTools(data, { readOnly: false }).find(({ writes }) => writes) as DataTool;
});

beforeEach(() => administrator.query('truncate events; insert into events (id) values (1), (9007199254740992), (9007199254740993)'));

afterAll(async () => {
  await source.close();
  await administrator.end();
  await database.drop();
});

/** Calls the tool with JSON as a model writes it. */
const callTool = (json: string): Promise<ToolResult> => tool.run(JSON.parse(json));
const of = (operation: string, row: string) => `{"table":"events","operation":"${operation}","rows":[${row}]}`;
const stored = async () =>
  (await administrator.query('select id::text, big::text, amount::text, many::text, facts::text from events')).rows;
const update = (values: string) => of('update', `{"key":{"id":1},"values":${values}}`);

test.each([
  ['a key beyond what a double counts', of('delete', '{"key":{"id":9007199254740993}}')],
  ['a key below it', of('delete', '{"key":{"id":-9007199254740993}}')],
  ['a key with too many decimals', of('delete', '{"key":{"id":1234567890.1234567}}')],
  ['a whole value', update('{"big":1234567890123456789}')],
  ['a large power of ten', update('{"amount":1e20}')],
  ['a decimal', update('{"amount":12345678901234567.89}')],
  ['a decimal of 16 digits', update('{"amount":0.1234567890123456}')],
  ['a very small one', update('{"amount":1.2345678901234567e-9}')],
  ['a value to insert', of('insert', '{"values":{"id":9007199254740993}}')],
  ['an item of an array', update('{"many":[1,[12345678901234567.89]]}')],
  ['a field of a document', update('{"facts":{"a":[{"b":1234567890123456789}]}}')],
])('%s that a JSON number may have rounded is refused, and nothing is changed', async (_, json) => {
  const before = await stored();
  const { failure, text } = await callTool(json);
  expect(failure?.kind).toBe('refused');
  expect(text).toContain('write it as a string');
  expect(tool.input.safeParse(JSON.parse(json)).success).toBe(false);
  await expect(data.change(JSON.parse(json))).rejects.toMatchObject({ kind: 'refused', message: expect.stringContaining('as a string') });
  expect(await stored()).toEqual(before);
});

test('strings are stored exactly, in keys and in values', async () => {
  const deleted = await callTool(of('delete', '{"key":{"id":"9007199254740993"}}'));
  expect(deleted.text).toContain('9007199254740993');
  const values = `{"big":"1234567890123456789","amount":"12345678901234567.89","many":["0.12345678901234567"],"facts":"{\\"a\\":12345678901234567.89}"}`;
  expect((await callTool(update(values))).failure).toBeUndefined();
  expect((await stored()).toSorted((a, b) => (a.id < b.id ? -1 : 1))).toMatchObject([
    {
      id: '1',
      big: '1234567890123456789',
      amount: '12345678901234567.89',
      many: '{0.12345678901234567}',
      facts: '{"a": 12345678901234567.89}',
    },
    { id: '9007199254740992' },
  ]);
});

test('numbers that a double holds exactly stay numbers', async () => {
  expect(
    (await callTool(update('{"big":-9007199254740991,"amount":-12345.6789012345,"many":[0,0.1,1e3],"facts":{"a":0.5}}'))).failure,
  ).toBe(undefined);
  expect((await stored()).find(({ id }) => id === '1')).toMatchObject({
    big: '-9007199254740991',
    amount: '-12345.6789012345',
    many: '{0,0.1,1000}',
    facts: '{"a": 0.5}',
  });
});

test('every decimal of at most 15 digits is exact and is written as it was read', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: -(10n ** 15n) + 1n, max: 10n ** 15n - 1n }), fc.integer({ min: 0, max: 20 }), (digits, decimals) => {
      const value = Number(`${digits}e-${decimals}`);
      expect(isExact(value)).toBe(true);
      expect(
        value
          .toPrecision(15)
          .replace(/e.*/, '')
          .replace(/\D/g, '')
          .replace(/^0+|0+$/g, ''),
      ).toBe(
        String(digits)
          .replace(/\D/g, '')
          .replace(/^0+|0+$/g, ''),
      );
    }),
  );
});

test('the description of the tool asks for strings', () => {
  const schema = JSON.stringify(z.toJSONSchema(tool.input, { target: 'draft-7' }));
  expect(`${tool.description} ${schema}`).toMatch(/string.*9007199254740993/s);
});
