import { DataFailure } from '@agent-service/business-data';
import { anyCharacter } from '@agent-service/testkit/properties';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { changeOf, chartIn, detailOf, keysOf, maxKeysLength, maxSteps, maxTextLength, StepLog } from './step-records.ts';

test('a detail has the input of a tool, and of a change never the values', () => {
  expect(detailOf('query', { sql: ' select 1 ' })).toBe('select 1');
  expect(detailOf('describe_table', { table: 'orders' })).toBe('orders');
  expect(detailOf('list_tables', {})).toBe('');
  const change = { table: 'orders', operation: 'update', rows: [{ key: { id: 1 }, values: { note: 'SECRET' } }] };
  expect(detailOf('change', change)).toBe('update orders (1 row)');
});

test('any input of a model becomes a well-formed text of bounded length', () => {
  fc.assert(
    fc.property(fc.constantFrom('query', 'describe_table', 'change', 'list_tables'), fc.anything(), (tool, input) => {
      const detail = detailOf(tool, input);
      expect([detail.isWellFormed(), detail.length <= 2_000]).toEqual([true, true]);
    }),
  );
});

test('the parts of a change are those of the input, and those that a model left out are empty', () => {
  expect(changeOf({ operation: 'update', table: 'orders', rows: [{}, {}] })).toEqual({ operation: 'update', table: 'orders', rows: 2 });
  for (const input of [undefined, null, 7, 'update', {}, { operation: 1, table: [], rows: 'all' }])
    expect(changeOf(input)).toEqual({ operation: '', table: '', rows: 0 });
  expect(changeOf({ table: 't'.repeat(1_000_000) }).table).toHaveLength(2_000);
});

test('the keys name the rows of an update or a delete without their values', () => {
  const rows = [{ key: { id: 1 }, values: { note: 'SECRET' } }, { key: { id: 2 } }];
  expect(JSON.parse(keysOf({ operation: 'update', table: 't', rows }))).toEqual([{ id: 1 }, { id: 2 }]);
  expect(JSON.parse(keysOf({ operation: 'delete', table: 't', rows: [{ key: { a: 'x', b: 'y' } }] }))).toEqual([{ a: 'x', b: 'y' }]);
  expect(keysOf({ operation: 'insert', table: 't', rows })).toBe('');
});

const key = fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), fc.oneof(fc.string({ maxLength: 300 }), fc.integer()), {
  maxKeys: 3,
});

test('as many of the first keys are included as fit', () => {
  fc.assert(
    fc.property(fc.array(key, { maxLength: 50 }), (keys) => {
      const json = keysOf({ operation: 'delete', table: 't', rows: keys.map((one) => ({ key: one })) });
      expect(json.length).toBeLessThanOrEqual(maxKeysLength);
      const included = json === '' ? [] : JSON.parse(json);
      expect(included).toEqual(JSON.parse(JSON.stringify(keys.slice(0, included.length))));
      if (included.length < keys.length) expect(JSON.stringify(keys.slice(0, included.length + 1)).length).toBeGreaterThan(maxKeysLength);
    }),
  );
});

test('any input of a model has keys or none', () => {
  fc.assert(
    fc.property(fc.constantFrom('insert', 'update', 'delete'), fc.anything(), fc.anything(), (operation, rows, key) => {
      for (const input of [rows, { operation, rows }, { operation, rows: [key] }, undefined]) {
        const json = keysOf(input);
        expect(json === '' || Array.isArray(JSON.parse(json))).toBe(true);
      }
    }),
  );
});

const resultOf = (rows: readonly (readonly string[])[], truncated = false) => ({
  columns: [{ name: 'a', type: 'text' as const }],
  rows,
  truncated,
  tables: ['orders'],
  statement: 'rewritten',
  durationMs: 1.6,
  text: '',
});
const queryOf = (sql: string, rows: readonly (readonly string[])[] = [['x']], truncated = false) => ({
  name: 'query',
  input: { sql },
  toolResult: { text: '', result: resultOf(rows, truncated) },
  durationMs: 2.4,
});

test('every step is recorded in order with its time and rows, and queries with their whole statements', () => {
  const log = new StepLog();
  const sql = `select '${'x'.repeat(15_000)}'`;
  log.add({ name: 'list_tables', input: {}, toolResult: { text: 'orders' }, durationMs: 1 });
  log.add(queryOf(sql, [['x'], ['y']]));
  log.add({ ...queryOf('select secret'), toolResult: { text: 'No.', failure: new DataFailure('refused', 'No.') } });
  const change = { table: 'orders', operation: 'update', rows: [{ key: { id: 1 } }] };
  log.add({ name: 'change', input: change, toolResult: { text: '', result: resultOf([['1']]) }, durationMs: 3 });
  expect(log.steps).toEqual([
    { name: 'list_tables', detail: '', rows: 0, durationMs: 1, error: '', query: 0 },
    { name: 'query', detail: '', rows: 2, durationMs: 2, error: '', query: 1 },
    { name: 'query', detail: 'select secret', rows: 0, durationMs: 2, error: 'No.', query: 0 },
    { name: 'change', detail: 'update orders (1 row)', rows: 1, durationMs: 3, error: '', query: 2 },
  ]);
  expect(log.queries).toEqual([
    { statement: sql, tables: ['orders'], rows: 2, durationMs: 2 },
    { statement: 'rewritten', tables: ['orders'], rows: 1, durationMs: 2 },
  ]);
  // A change is no result of the answer.
  expect(log.result?.rows).toEqual([['x'], ['y']]);
});

test('a step that prepares an answer has its statement and rows, and is neither a query nor the result', () => {
  const log = new StepLog();
  log.add({ ...queryOf('select sample', [['x'], ['y']]), isPreparation: true });
  log.add(queryOf('select 1', [['z']]));
  expect(log.steps).toMatchObject([
    { name: 'query', detail: 'select sample', rows: 2, query: 0 },
    { name: 'query', detail: '', rows: 1, query: 1 },
  ]);
  expect(log.queries.map(({ statement }) => statement)).toEqual(['select 1']);
  expect(log.result?.rows).toEqual([['z']]);
});

test('any steps have a bounded number and bounded texts, which are cut only where there is no room', () => {
  const statements = fc.array(fc.string({ unit: anyCharacter, maxLength: 16_000 }), { maxLength: 60 });
  fc.assert(
    fc.property(statements, fc.nat(4), (texts, times) => {
      const log = new StepLog();
      for (let round = 0; round <= times; round += 1) for (const text of texts) log.add(queryOf(text));
      expect(log.steps).toHaveLength(Math.min(maxSteps, texts.length * (times + 1)));
      const length = log.queries.reduce((sum, { statement }) => sum + statement.length, 0);
      expect(length).toBeLessThanOrEqual(maxTextLength + 2 * maxSteps);
      const first = log.queries[0]?.statement;
      if (first !== undefined) expect(first).toBe(texts[0]?.toWellFormed());
    }),
    { numRuns: 30 },
  );
});

test('the result is that of the last query, up to 32 kB, and says what it leaves out', () => {
  const log = new StepLog();
  expect(log.result).toBeUndefined();
  log.add(queryOf('select 1', [['x']], true));
  expect(log.result).toEqual({ columns: [{ name: 'a', type: 'text' }], rows: [['x']], row_count: 1, truncated: true });
  log.add(
    queryOf(
      'select 2',
      Array.from({ length: 100 }, () => ['y'.repeat(1_000)]),
    ),
  );
  expect(log.result).toMatchObject({ row_count: 100, truncated: true });
  expect(log.result?.rows).toHaveLength(32);
  expect(JSON.stringify(log.result).length).toBeLessThan(33 * 1024);
});

test('the chart of an answer is its first block of vega-lite that is an object', () => {
  const block = (text: string) => `Sales:\n\n${'`'.repeat(3)}vega-lite\n${text}\n${'`'.repeat(3)}\nDone.`;
  expect(chartIn(block('{"mark": "bar"}'))).toEqual({ mark: 'bar' });
  const unclosed = block('{}').replace('\nDone.', ' Done.');
  const deep = block(`{"mark":${'['.repeat(10_000)}${']'.repeat(10_000)}}`);
  for (const text of ['no chart', unclosed, deep, block('[1]'), block('{'), block(`{"a":"${'x'.repeat(40_000)}"}`)])
    expect(chartIn(text)).toBeNull();
  fc.assert(fc.property(fc.string({ unit: anyCharacter }), (text) => void chartIn(block(text))));
});
