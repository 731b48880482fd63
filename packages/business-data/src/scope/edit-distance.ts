/** The longest name of PostgreSQL. */
const maxLetters = 63;

/** The number of letters that are inserted, removed or replaced (Levenshtein). */
export function editDistance(one: string, other: string): number {
  const [a, b] = [one.slice(0, maxLetters), other.slice(0, maxLetters)];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let index = 0; index < a.length; index += 1) {
    const next = [index + 1];
    for (let column = 1; column <= b.length; column += 1) {
      const replaced = (row[column - 1] ?? 0) + (b[column - 1] === a[index] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
