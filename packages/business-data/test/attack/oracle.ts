import { inspect } from 'node:util';
import { DataFailure } from '../../src/failure.ts';
import { canary } from './hostile-database.ts';

export type Verdict = 'ran' | DataFailure['kind'];

/** A canary came out, or something failed in a way that it must not. */
export interface Breach {
  readonly statement: string;
  readonly what: string;
}

/**
 * Judges all that came out of one attempt: result, message, and the whole chain of causes, since that is what a log gets. A statement
 * that itself holds a canary's text proves nothing and is not written by the generator.
 */
export async function attempt(statement: string, breaches: Breach[], work: (statement: string) => Promise<unknown>): Promise<Verdict> {
  try {
    const result = await work(statement);
    noteCanary(statement, result, breaches);
    return 'ran';
  } catch (cause) {
    noteCanary(statement, cause, breaches);
    if (cause instanceof DataFailure) return cause.kind;
    breaches.push({ statement, what: `an error that nobody translated: ${String(cause)}` });
    return 'failed';
  }
}

function noteCanary(statement: string, outcome: unknown, breaches: Breach[]): void {
  const text = inspect(outcome, { depth: 12, maxArrayLength: null, maxStringLength: null }).replaceAll(statement, '');
  const found = canary.exec(text);
  if (found) breaches.push({ statement, what: `a canary came out: ${text.slice(Math.max(0, found.index - 60), found.index + 60)}` });
}
