import { inspect } from 'node:util';
import { DataFailure } from '../../src/failure.ts';
import { canary } from './hostile-database.ts';

export type Verdict = 'ran' | DataFailure['kind'];

/** A statement that returned a canary, or failed with another error than a DataFailure. */
export interface Breach {
  readonly statement: string;
  readonly what: string;
}

/**
 * Runs a statement and searches its result, or its message and chain of causes, which are logged, for canaries. The generator writes no
 * statement that contains a canary itself.
 */
export async function attempt(statement: string, breaches: Breach[], work: (statement: string) => Promise<unknown>): Promise<Verdict> {
  try {
    const result = await work(statement);
    noteCanary(statement, result, breaches);
    return 'ran';
  } catch (cause) {
    noteCanary(statement, cause, breaches);
    if (cause instanceof DataFailure) return cause.kind;
    breaches.push({ statement, what: `an error that was not translated: ${String(cause)}` });
    return 'failed';
  }
}

function noteCanary(statement: string, outcome: unknown, breaches: Breach[]): void {
  const text = inspect(outcome, { depth: 12, maxArrayLength: null, maxStringLength: null }).replaceAll(statement, '');
  const match = canary.exec(text);
  if (match) breaches.push({ statement, what: `a canary was returned: ${text.slice(Math.max(0, match.index - 60), match.index + 60)}` });
}
