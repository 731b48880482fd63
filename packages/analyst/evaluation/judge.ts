import type { EvaluationQuestion } from './questions.ts';

type Cell = string | null;
export type Row = readonly Cell[];

/** The rows of an answer, or `refused` where the analyst asked back. */
export type Answer = { readonly refused: true } | { readonly rows: readonly Row[]; readonly truncated: boolean };

export type Verdict = 'right' | 'asked back' | 'wrong';

/** Judges an answer by its rows against those of each expected statement. Columns may have any order and more may be shown. */
export function judge({ match = 'rows', asksBack }: EvaluationQuestion, expected: readonly (readonly Row[])[], answer: Answer): Verdict {
  if ('refused' in answer) return asksBack ? 'right' : 'asked back';
  if (asksBack) return 'wrong';
  const agrees = { rows: sameRows, ranked: firstRows, values: holdsValues }[match];
  return expected.some((rows) => agrees(rows, answer.rows, answer.truncated)) ? 'right' : 'wrong';
}

function sameRows(expected: readonly Row[], actual: readonly Row[], truncated: boolean): boolean {
  if (truncated ? actual.length > expected.length : actual.length !== expected.length) return false;
  return mappings(expected, actual).some((mapping) => contains(expected, actual.map(choose(mapping))));
}

function firstRows(expected: readonly Row[], actual: readonly Row[]): boolean {
  if (actual.length === 0 || actual.length > expected.length) return false;
  const value = (expected[0]?.length ?? 0) - 1;
  return mappings(expected, actual).some((mapping) => {
    const rows = actual.map(choose(mapping));
    return contains(expected, rows) && rows.every((row, index) => sameCell(expected[index]?.[value] ?? null, row[value] ?? null));
  });
}

const mostRowsOfValues = 5;

const holdsValues = (expected: readonly Row[], actual: readonly Row[]): boolean =>
  actual.length <= mostRowsOfValues && expected.flat().every((value) => actual.flat().some((cell) => sameCell(value, cell)));

/** Every choice of one shown column for each expected column, in which the columns could agree. */
function mappings(expected: readonly Row[], actual: readonly Row[]): number[][] {
  const width = actual[0]?.length ?? expected[0]?.length ?? 0;
  const first = actual[0];
  const extend = (mapping: readonly number[]): number[][] => {
    if (mapping.length === (expected[0]?.length ?? 0)) return [[...mapping]];
    return Array.from({ length: width }, (_, column) => column)
      .filter((column) => !mapping.includes(column))
      .filter((column) => !first || expected.some((row) => sameCell(row[mapping.length] ?? null, first[column] ?? null)))
      .flatMap((column) => extend([...mapping, column]));
  };
  return extend([]);
}

const choose =
  (mapping: readonly number[]) =>
  (row: Row): Row =>
    mapping.map((column) => row[column] ?? null);

/** Each of the rows is a different one of the expected. */
function contains(expected: readonly Row[], rows: readonly Row[]): boolean {
  const left = [...expected];
  return rows.every((row) => {
    const index = left.findIndex((one) => one.every((cell, column) => sameCell(cell, row[column] ?? null)));
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  });
}

/** Half of the last decimal that a percentage is shown with. */
const rounding = 0.051;
const month = /^\d{4}-\d{2}$/;

const quarterOf = (month: string) => `${month.slice(0, 4)}-Q${Math.ceil(Number(month.slice(5)) / 3)}`;

/** Numbers agree as far as they are shown, a sum over nothing is 0, and a month is its first day. */
function sameCell(expected: Cell, actual: Cell): boolean {
  if (expected === actual) return true;
  if (expected !== null && actual !== null && month.test(expected))
    return actual.startsWith(`${expected}-01`) || actual === quarterOf(expected);
  const [a, b] = [Number(expected ?? 0), Number(actual ?? 0)];
  return expected !== '' && actual !== '' && Math.abs(a - b) <= Math.max(rounding, Math.abs(a) * 1e-6);
}
