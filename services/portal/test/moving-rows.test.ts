import { expect, test } from '@jest/globals';
import { readMoving, readWhole } from '../web/src/api/pages.ts';

/** Reads a list of so many rows, whose pages are these in each pass, and returns the rows with the number of passes. */
async function readPasses(total: number, ...passes: string[][]): Promise<[rows: string, passes: number]> {
  let pass = -1;
  const read = async (cursor: string | undefined) => {
    if (cursor === undefined) pass += 1;
    const [pages, index] = [passes[pass] ?? [], Number(cursor ?? 0)];
    return { data: [...(pages[index] ?? '')], meta: { next_cursor: index + 1 < pages.length ? `${index + 1}` : null, total } };
  };
  const rows: string[] = [];
  for await (const { data } of readMoving(read, (id) => id)) rows.push(...data);
  return [rows.join(''), pass + 1];
}

test('a list whose rows keep their places is read once', async () => {
  expect(await readPasses(5, ['ab', 'cd', 'e'])).toEqual(['abcde', 1]);
  expect(await readPasses(0, [''])).toEqual(['', 1]);
});

test('a row that moved to a page before is found in the next pass, and no row comes twice', async () => {
  expect(await readPasses(5, ['ab', 'cd'], ['ea', 'bc', 'd'])).toEqual(['abcde', 2]);
});

test('a list is read three times at most', async () => {
  expect(await readPasses(5, ['ab', 'cd'], ['ab', 'cd'], ['ab', 'cd'], ['ea', 'bc', 'd'])).toEqual(['abcd', 3]);
});

test('a whole list is its last page with all rows, to the page that reaches a bound', async () => {
  const pages = ['ab', 'cd', 'e'];
  const read = async (cursor: string | undefined) => {
    const index = Number(cursor ?? 0);
    return { data: [...(pages[index] ?? '')], meta: { next_cursor: index < 2 ? `${index + 1}` : null, total: 5 }, index };
  };
  expect(await readWhole(read)).toEqual({ data: [...'abcde'], meta: { next_cursor: null, total: 5 }, index: 2 });
  expect(await readWhole(read, undefined, 3)).toMatchObject({ data: [...'abcd'], meta: { total: 5 } });
  await expect(readWhole(read, AbortSignal.abort())).rejects.toThrow('aborted');
});
