import { Refusal } from '../failure.ts';
import type { ResolvedScope, ScopedTable } from '../scope/scope.ts';
import { bind } from './bind.ts';
import { checkGrammar } from './check-grammar.ts';
import { CompleteDeparser } from './deparser.ts';
import { parseRewritten, parseStatement } from './parse.ts';
import { rewrite } from './rewrite.ts';
import { sameTree, type Tree } from './tree.ts';

export interface PassedStatement {
  readonly text: string;
  /** The tables that it reads. */
  readonly tables: readonly ScopedTable[];
}

/**
 * Passes a model's statement through the gates that need no database, and returns the statement that may run:
 * 1. parse (parse.ts): one statement of bounded length and nesting, by PostgreSQL's parser;
 * 2. check the grammar (check-grammar.ts): only the node kinds, functions, operators and types of grammar.ts and allowed-names.ts;
 * 3. rewrite (rewrite.ts): each table becomes a subquery over its columns in scope;
 * 4. bind (bind.ts): every name means a column or table of the scope, and no value becomes too long (value-size.ts).
 * Throws a Refusal. Limits of time, rows and bytes apply when the statement runs (database/transaction.ts).
 */
export function passGates(text: string, scope: ResolvedScope): PassedStatement {
  const statement = parseStatement(text);
  checkGrammar(statement);
  return confine(statement, scope);
}

/** Rewrites and binds a parsed statement, so that it names nothing outside the scope. */
export function confine(statement: unknown, scope: ResolvedScope): PassedStatement {
  const { statement: confined, tables } = rewrite(statement, scope);
  return { text: writeStatement(bind(confined, tables)), tables };
}

const notRewritable =
  'This statement could not be limited to the columns in scope. Write it shorter: with simpler expressions, or as several statements.';

/** The text of a tree; refused unless PostgreSQL's parser reads the same tree from it. */
function writeStatement(statement: Tree): string {
  const text = deparse(statement);
  if (!sameTree(parseAgain(text), statement)) throw new Refusal(notRewritable);
  return text;
}

function deparse(statement: Tree): string {
  try {
    return new CompleteDeparser(statement as ConstructorParameters<typeof CompleteDeparser>[0], { pretty: false }).deparseQuery();
  } catch (cause) {
    if (cause instanceof RangeError) throw cause;
    throw new Refusal(notRewritable, { cause });
  }
}

function parseAgain(text: string): unknown {
  try {
    return parseRewritten(text);
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    throw new Refusal(notRewritable, { cause });
  }
}
