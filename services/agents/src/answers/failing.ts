import { type ErrorCode, errorCodes, isErrorCode } from '@agent-service/contracts';
import { type EndRefusal, standingsOf } from './completion.ts';
import { type Ender, type Failure, failed } from './ender.ts';
import { type AttemptKey, byKey, nameOf } from './key.ts';
import type { Parts } from './parts.ts';
import type { Standing } from './store/complete.ts';

export interface FailedAttempt extends AttemptKey {
  readonly failure: Failure | null;
}

/** Ends answers whose workers can not get them, unless a newer attempt is at it. */
export async function failAttempts(parts: Parts, ender: Ender, attempts: readonly FailedAttempt[]): Promise<EndRefusal[]> {
  const newest = byKey(attempts.toSorted((a, b) => a.attempt - b.attempt));
  const ended = byKey(await ender.end([...newest.values()].map((attempt) => failed(attempt, readable(attempt.failure), attempt.attempt))));
  const others = attempts.filter((attempt) => ended.get(nameOf(attempt))?.attempt !== attempt.attempt);
  const standings = await standingsOf(parts, others);
  return attempts.map((attempt) =>
    ended.get(nameOf(attempt))?.attempt === attempt.attempt ? undefined : refusalOf(attempt, standings.get(nameOf(attempt))),
  );
}

const longestMessage = 2_000;

function readable(failure: Failure | null): Failure {
  const code: ErrorCode = isErrorCode(failure?.code) ? failure.code : 'internal';
  const message = failure?.message ? failure.message.slice(0, longestMessage).toWellFormed().replaceAll('\0', '') : '';
  return { code, message: message === '' ? errorCodes[code].message : message };
}

function refusalOf({ attempt }: AttemptKey, standing: Standing | undefined): EndRefusal {
  if (standing?.status === 'failed' && standing.attempt === attempt) return undefined;
  if (standing?.state === 'running' && standing.attempt === attempt) return { code: 'unavailable' };
  return { code: standing && (standing.state !== null || standing.status === 'completed') ? 'attempt_superseded' : 'not_found' };
}
