import { hasSqlDetails, loadModule, parseSync, scanSync } from 'libpg-query';
import { Refusal } from '../failure.ts';
import { onlyStatement } from './tree.ts';

/** Characters of a statement. No statement that a person would write is longer. */
const maxLength = 16_000;
/** Characters of a rewritten statement, which names every column in scope. */
const maxRewrittenLength = 1_000_000;

await loadModule();

/** The one statement of a model's text, by PostgreSQL's own parser. */
export function parseStatement(text: string): unknown {
  requireText(text, maxLength);
  requireShallow(text);
  return parseOne(text);
}

/** The same for the text of a rewritten statement, which is hardly deeper than the model's. */
export function parseRewritten(text: string): unknown {
  requireText(text, maxRewrittenLength);
  return parseOne(text);
}

function requireText(text: string, limit: number): void {
  if (text.length > limit) throw new Refusal(`A statement has at most ${limit} characters.`);
  if (text.includes('\0') || !text.isWellFormed()) throw new Refusal('A statement cannot contain such characters.');
}

function parseOne(text: string): unknown {
  const statement = text.trim() === '' ? undefined : onlyStatement(parse(text));
  if (statement === undefined) throw new Refusal('Send exactly one statement.');
  return statement;
}

/** An error other than a syntax error leaves the parser in an unknown state: it is thrown on, and the thread is replaced. */
function parse(text: string): unknown {
  try {
    return parseSync(text);
  } catch (cause) {
    if (!hasSqlDetails(cause)) throw cause;
    const { message, sqlDetails: { cursorPosition = -1 } = {} } = cause;
    const near = cursorPosition >= 0 ? ` (at character ${cursorPosition + 1})` : '';
    throw new Refusal(`The statement has a syntax error: ${message}${near}.`, { cause });
  }
}

/** Tokens that may be nested in each other. */
const maxNesting = 2_500;
const roughToken = /[\w\x80-\uffff]+|[^\s\w\x80-\uffff]/g;

/** Bounds the depth of the tree before it is built. Where the rough count is high, PostgreSQL's scanner counts the tokens. */
function requireShallow(text: string): void {
  if ((text.match(roughToken)?.length ?? 0) <= maxNesting) return;
  if (nestingOf(scan(text)) > maxNesting)
    throw new Refusal('The statement is nested too deeply, or chains too many operations. Send a simpler one.');
}

const setOperation = /^(union|intersect|except)$/i;

/**
 * An upper bound, up to a constant factor, of the depth of a tree of these tokens: only items of a list are at the same depth. So it is the
 * number of tokens since the last comma, summed over the open brackets, plus the set operations, which nest in each other.
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
    // Errors of the scanner have these names; a trap of WebAssembly or a stack overflow has another name.
    if (!(cause instanceof Error) || (cause.name !== 'Error' && cause.name !== 'SyntaxError')) throw cause;
    return text.match(roughToken) ?? [];
  }
}
