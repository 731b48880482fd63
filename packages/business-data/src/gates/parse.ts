import { hasSqlDetails, loadModule, parseSync, scanSync } from 'libpg-query';
import { Refusal } from '../failure.ts';
import { onlyStatement } from './tree.ts';

/** More would only be generated. */
const longest = 16_000;

await loadModule();

/** The one statement of a text, by PostgreSQL's own parser. */
export function parseStatement(text: string, limit = longest): unknown {
  if (text.length > limit) throw new Refusal(`A statement has at most ${limit} characters.`);
  if (text.includes('\0') || !text.isWellFormed()) throw new Refusal('A statement cannot contain such characters.');
  if (limit <= longest) requireShallow(text);
  const statement = text.trim() === '' ? undefined : onlyStatement(parse(text));
  if (statement === undefined) throw new Refusal('Send exactly one statement.');
  return statement;
}

/** Any failure that PostgreSQL does not report itself leaves the parser in an unknown state: this thread must end. */
function parse(text: string): unknown {
  try {
    return parseSync(text);
  } catch (cause) {
    if (!hasSqlDetails(cause)) throw cause;
    const { message, sqlDetails: { cursorPosition = -1 } = {} } = cause;
    const near = cursorPosition >= 0 ? ` (at character ${cursorPosition + 1})` : '';
    throw new Refusal(`The statement cannot be understood: ${message}${near}.`, { cause });
  }
}

const mostNesting = 2_500;
const roughToken = /[\w\x80-\uffff]+|[^\s\w\x80-\uffff]/g;

/** Bounds the depth of the tree before it is built. PostgreSQL's own scanner says what is a token, where there are many. */
function requireShallow(text: string): void {
  if ((text.match(roughToken)?.length ?? 0) <= mostNesting) return;
  if (nestingOf(scan(text)) > mostNesting)
    throw new Refusal('The statement is nested too deeply, or chains too many operations. Send a simpler one.');
}

const setOperation = /^(union|intersect|except)$/i;

/**
 * No tree of these tokens is deeper but for a constant factor: only the items of a list and of a chain of set operations stand at one
 * depth, so it is the tokens since the last comma, summed over the open brackets, and the set operations.
 */
function nestingOf(tokens: readonly string[]): number {
  const open = [0];
  let [depth, deepest, setOperations] = [0, 0, 0];
  for (const token of tokens) {
    open.push((open.pop() ?? 0) + 1);
    depth += 1;
    deepest = Math.max(deepest, depth);
    if (token === '(' || token === '[') open.push(0);
    else if ((token === ')' || token === ']') && open.length > 1) depth -= open.pop() ?? 0;
    else if (token === ',') depth -= open.splice(-1, 1, 0)[0] ?? 0;
    else if (setOperation.test(token)) setOperations += 1;
  }
  return deepest + setOperations;
}

function scan(text: string): readonly string[] {
  try {
    return scanSync(text).tokens.map((token) => token.text);
  } catch (cause) {
    // The scanner's own complaints; a trap of WebAssembly or the end of the stack has another name.
    if (!(cause instanceof Error) || (cause.name !== 'Error' && cause.name !== 'SyntaxError')) throw cause;
    return text.match(roughToken) ?? [];
  }
}
