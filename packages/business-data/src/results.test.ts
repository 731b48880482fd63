import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DataFailure } from './failure.ts';
import { describeTable, formatRows, toValue } from './results.ts';
import { createScope } from './scope/scope.ts';

test('no cell can look like another line or column', () => {
  const cell = fc.option(fc.string({ unit: 'grapheme' }));
  const table = fc.array(fc.tuple(cell, cell), { maxLength: 5 });
  const keepsLines = fc.property(table, (rows) => {
    const lines = formatRows({ columns: ['a', 'b'], rows, truncated: false }).split('\n');
    expect(lines).toHaveLength(rows.length + 2);
    for (const line of lines.slice(1, -1)) expect(line.split(/(?<!\\)(?:\\\\)* \| /).length).toBe(2);
  });
  fc.assert(keepsLines);
});

test('a long cell or comment that is cut in the middle of a character stays text that a provider accepts', () => {
  const cell = `${'a'.repeat(1_999)}😀 and more`;
  expect(formatRows({ columns: ['a'], rows: [[cell]], truncated: false }).isWellFormed()).toBe(true);
  const comment = `${'a'.repeat(299)}😀 and more`;
  const { tables } = createScope({
    tables: [
      {
        schema: 'public',
        name: 't',
        written: 't',
        kind: 'table',
        needsFence: false,
        comment,
        columns: [],
        primaryKey: [],
        foreignKeys: [],
        approximateRows: null,
        hasAllColumns: true,
      },
    ],
    readOnly: true,
    defaultSchema: 'public',
  });
  expect(tables.map((table) => describeTable(table).isWellFormed())).toEqual([true]);
});

test('numbers are numbers where JavaScript keeps them exactly', () => {
  const numbers: Record<string, unknown> = {
    '1': 1,
    '-12.50': -12.5,
    '9007199254740993': '9007199254740993',
    NaN: 'NaN',
    '0.000001': 0.000001,
  };
  for (const [text, value] of Object.entries(numbers)) expect(toValue(text, 'number')).toBe(value);
  fc.assert(fc.property(fc.integer(), (value) => expect(toValue(String(value), 'number')).toBe(value)));
  fc.assert(fc.property(fc.bigInt(), (value) => expect(String(toValue(String(value), 'number'))).toBe(String(value))));
});

test('numbers in a JSON value are numbers where JavaScript keeps them exactly', () => {
  const text = '{"id":9007199254740993,"list":[0.1234567890123456789,1e400,1.50,{"a":-9007199254740993}],"name":"9007199254740993 e"}';
  expect(toValue(text, 'json')).toEqual({
    id: '9007199254740993',
    list: ['0.1234567890123456789', '1e400', 1.5, { a: '-9007199254740993' }],
    name: '9007199254740993 e',
  });
});

test('a JSON value that is nested too deep to be written again stays text', () => {
  const nested = (depth: number, inner: string) => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;
  expect(toValue(nested(64, '1'), 'json')).toEqual(JSON.parse(nested(64, '1')));
  // The second has a number whose digits are read from the text.
  for (const text of [nested(65, '1'), nested(100_000, '9007199254740993')]) expect(toValue(text, 'json')).toBe(text);
});

test('the other types as callers expect them', () => {
  expect([
    toValue('t', 'boolean'),
    toValue('f', 'boolean'),
    toValue(null, 'json'),
    toValue('{"a":[1]}', 'json'),
    toValue('2024-01-01', 'date'),
  ]).toEqual([true, false, null, { a: [1] }, '2024-01-01']);
});

test('a JSON value that is none is a failure of the data source, and is not quoted', () => {
  const read = () => toValue('secret of a customer', 'json');
  expect(read).toThrow(DataFailure);
  expect(read).toThrow(expect.objectContaining({ kind: 'unavailable' }));
  expect(String(causeOf(read))).not.toContain('secret');
});

function causeOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (cause) {
    return (cause as Error).cause;
  }
}
