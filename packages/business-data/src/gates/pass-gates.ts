import { Refusal } from '../failure.ts';
import type { ResolvedScope, ScopedTable } from '../scope/scope.ts';
import { bind } from './bind.ts';
import { CompleteDeparser } from './deparser.ts';
import { judge } from './judge.ts';
import { parseStatement } from './parse.ts';
import { rewrite } from './rewrite.ts';
import { sameTree, type Tree } from './tree.ts';

/** Rewritten statements name every column in scope. */
const longestWritten = 1_000_000;

export interface PassedStatement {
  readonly text: string;
  /** The tables that it reads. */
  readonly tables: readonly ScopedTable[];
}

/** Gates one and two: from what was asked to what may run, or a Refusal. Touches no database. */
export function passGates(text: string, scope: ResolvedScope): PassedStatement {
  const statement = parseStatement(text);
  judge(statement);
  return confine(statement, scope);
}

/** Gate two alone: a statement that can name nothing outside of the scope. */
export function confine(statement: unknown, scope: ResolvedScope): PassedStatement {
  const { statement: confined, tables } = rewrite(statement, scope);
  return { text: writeStatement(bind(confined, tables)), tables };
}

/** The text of a tree; refused unless PostgreSQL's parser reads exactly this tree in it. */
function writeStatement(statement: Tree): string {
  const text = deparse(statement);
  if (!sameTree(parseAgain(text), statement)) throw new Refusal('This statement has a form that is not supported.');
  return text;
}

function deparse(statement: Tree): string {
  try {
    return new CompleteDeparser(statement as ConstructorParameters<typeof CompleteDeparser>[0], { pretty: false }).deparseQuery();
  } catch (cause) {
    if (cause instanceof RangeError) throw cause;
    throw new Refusal('This statement has a form that is not supported.', { cause });
  }
}

function parseAgain(text: string): unknown {
  try {
    return parseStatement(text, longestWritten);
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    throw new Refusal('This statement has a form that is not supported.', { cause });
  }
}
