/** The rows of an answer's markdown table, as text, without the line of titles. */
export function tableIn(content: string): string[][] {
  const lines = content.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|')),
  );
}

/** Whether a row shows all of these, in their order. */
function shows(row: readonly string[], cells: readonly string[]): boolean {
  let next = 0;
  for (const cell of row) if (cell === cells[next]) next += 1;
  return next === cells.length;
}

/** What is expected and not shown, and what is shown beyond that; each row of the answer stands for one. */
export function difference(shown: readonly string[][], expected: readonly string[][]) {
  const left = [...shown];
  const missing = expected.filter((cells) => {
    const at = left.findIndex((row) => shows(row, cells));
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  });
  return { missing, more: left };
}
