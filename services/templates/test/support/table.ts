/** The rows of an answer's markdown table, as text, without the header. */
export function tableIn(content: string): string[][] {
  const lines = content.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => plain(cell.trim().replaceAll('\\|', '|'))),
  );
}

/** Thousands without their separators. */
const plain = (cell: string) => (/^-?\d{1,3}(,\d{3})+(\.\d+)?$/.test(cell) ? cell.replaceAll(',', '') : cell);

/** True if a row contains these cells, in their order. */
function contains(row: readonly string[], cells: readonly string[]): boolean {
  let next = 0;
  for (const cell of row) if (cell === cells[next]) next += 1;
  return next === cells.length;
}

/** The expected rows that are missing, and the rows beyond those expected. Each row of the answer matches one expected row. */
export function difference(actual: readonly string[][], expected: readonly string[][]) {
  const remaining = [...actual];
  const missing = expected.filter((cells) => {
    const at = remaining.findIndex((row) => contains(row, cells));
    if (at >= 0) remaining.splice(at, 1);
    return at < 0;
  });
  return { missing, more: remaining };
}
