import { expect, test } from '@jest/globals';
import { toCsv } from '../web/src/ui/csv.ts';

const cellOf = (value: unknown) => toCsv([['first', value]]).slice('first,'.length, -'\r\n'.length);

test.each([
  ['=1+1', "'=1+1"],
  [' =1+1', "' =1+1"],
  ['@sum(1)', "'@sum(1)"],
  ['\tx', "'\tx"],
  ['Sales;=1+1', "Sales;'=1+1"],
  ['Sales; -1;+1', "Sales;' -1;'+1"],
  ['Sales\t=1+1', "Sales\t'=1+1"],
  ['Sales\n=1+1', `"Sales\n'=1+1"`],
  ['Sales";"=1+1;', `"Sales"";'""=1+1;"`],
])('%j is no formula for a spreadsheet that divides cells at commas, semicolons or tabs', (value, cell) => {
  expect(cellOf(value)).toBe(cell);
});

test.each([
  [-5, '-5'],
  ['2026-01-31', '2026-01-31'],
  ['a; b', 'a; b'],
  ['Sales, -10 %', '"Sales, -10 %"'],
  [null, ''],
])('%j stays as it is', (value, cell) => {
  expect(cellOf(value)).toBe(cell);
});
