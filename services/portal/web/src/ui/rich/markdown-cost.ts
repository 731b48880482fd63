// The time of the parser of Markdown grows with the square of some texts, and its recursion ends in an error for others. A model may be hostile, or
// repeat rows of a data source that are, so only a text that is cheap to parse is rendered.

const maxLength = 300_000;
const maxLines = 20_000;
/** Characters that may begin or end something within a line. */
const maxDelimiters = 3_000;
/** Quotes and items of lists that begin in the whole text, and on one line, where each contains the next. */
const maxContainers = 3_000;
const maxDepth = 20;
/** Cells of a table: each row has as many as the widest line of the text, even if it is empty. */
const maxCells = 20_000;

/** An underscore within a word is only text, as in the names of columns. */
const delimiters = /[*~`[\]<!]|_(?![\p{L}\p{N}])|(?<![\p{L}\p{N}])_/gu;
const containers = /^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])(?=[ \t]|$)))+/;
const container = />|[*+-]|\d+/g;

const countOf = (text: string, pattern: RegExp): number => text.match(pattern)?.length ?? 0;

/** True if rendering this text as Markdown could take seconds. */
export function isCostly(text: string): boolean {
  if (text.length > maxLength) return true;
  const lines = text.split(/\r\n?|\n/);
  if (lines.length > maxLines || countOf(text, delimiters) > maxDelimiters) return true;
  let [widest, opened] = [0, 0];
  for (const line of lines) {
    const depth = countOf(containers.exec(line)?.[0] ?? '', container);
    if (depth > maxDepth) return true;
    opened += depth;
    widest = Math.max(widest, countOf(line, /\|/g) + 1);
  }
  return opened > maxContainers || widest * lines.length > maxCells;
}
