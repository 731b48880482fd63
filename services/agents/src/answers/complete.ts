import { type ErrorCode, errorCodes, isErrorCode } from '@agent-service/contracts';
import { type Batcher, createBatcher, type RetryQueue } from '@agent-service/work';
import { type AnswersDeps, batchOptions } from './deps.ts';
import { timeOf } from './domain/message-id.ts';
import { type EndAnswers, type Failure, failed } from './end.ts';
import { type AttemptKey, byKey, nameOf } from './keys.ts';
import { type AnswerStatus, loadStatuses, type Result, type Settlement, type StoredResult, storeResults } from './store/complete.ts';

const batchItems = 200;

/** Why the end of an attempt was not accepted; undefined where it was. */
export type EndRefusal = { readonly code: ErrorCode } | undefined;

/** Stores results, each once and only of the newest attempt, and has them settled at once. */
export function createComplete(deps: AnswersDeps, settlements: RetryQueue<Settlement>): Batcher<Result, EndRefusal> {
  const { process, store, now } = deps;

  async function run(results: Result[]): Promise<EndRefusal[]> {
    const newest = newestOf(results);
    const rows = byKey(await storeResults(store.sql, [...newest.values()], now()));
    settlements.add([...rows].map(([name, row]) => toSettlement(row, newest.get(name) as Result)));
    const isStored = (result: Result) => rows.get(nameOf(result))?.attempt === result.attempt;
    const statuses = await loadStatusesOf(
      deps,
      results.filter((result) => !isStored(result)),
    );
    return results.map((result) => (isStored(result) ? undefined : refusalOfResult(result, statuses.get(nameOf(result)))));
  }

  function onFailure([first, ...rest]: Result[], cause: unknown): void {
    const { id, organizationId } = first as Result;
    process.logger.error({ event: 'storing_failed', answer_id: id, organization_id: organizationId, more: rest.length, err: cause });
  }

  return createBatcher({ run, maxItems: batchItems, onFailure, ...batchOptions<Result>(deps) });
}

const newestOf = <Key extends AttemptKey>(attempts: readonly Key[]): Map<string, Key> =>
  byKey(attempts.toSorted((a, b) => a.attempt - b.attempt));

const toSettlement = (row: StoredResult, { content, contentType, inputTokens, outputTokens, queries }: Result): Settlement => ({
  ...row,
  content,
  contentType,
  inputTokens,
  outputTokens,
  queries: [...queries],
});

async function loadStatusesOf({ store }: AnswersDeps, attempts: readonly AttemptKey[]): Promise<Map<string, AnswerStatus>> {
  if (attempts.length === 0) return new Map();
  const keys = [...byKey(attempts).values()].map((key) => ({ ...key, createdAt: timeOf(key.id) ?? 0 }));
  return byKey(await loadStatuses(store.sql, keys));
}

/** A result that the same attempt stored before is accepted again, without effect. */
function refusalOfResult({ attempt }: AttemptKey, status: AnswerStatus | undefined): EndRefusal {
  const isOwn = status?.attempt === attempt;
  if (isOwn && (status.state === 'settling' || status.status === 'completed')) return undefined;
  return refusalOf(isOwn, status);
}

function refusalOf(isOwn: boolean, status: AnswerStatus | undefined): EndRefusal {
  // The attempt still runs, but its end was not stored: the log has the failure, and the worker may try again.
  if (isOwn && status?.state === 'running') return { code: 'unavailable' };
  return { code: status && (status.state !== null || status.status === 'completed') ? 'attempt_superseded' : 'not_found' };
}

export interface FailedAttempt extends AttemptKey {
  readonly failure: Failure | null;
}

/** Ends answers that their workers could not produce, unless there is a newer attempt. */
export async function failAttempts(deps: AnswersDeps, endAnswers: EndAnswers, attempts: readonly FailedAttempt[]): Promise<EndRefusal[]> {
  const ends = [...newestOf(attempts).values()].map((attempt) => failed(attempt, toReadable(attempt.failure), attempt.attempt));
  const rows = byKey(await endAnswers.end(ends));
  const isEnded = (attempt: AttemptKey) => rows.get(nameOf(attempt))?.attempt === attempt.attempt;
  const statuses = await loadStatusesOf(
    deps,
    attempts.filter((attempt) => !isEnded(attempt)),
  );
  return attempts.map((attempt) => {
    const status = statuses.get(nameOf(attempt));
    const isOwn = status?.attempt === attempt.attempt;
    return isEnded(attempt) || (isOwn && status.status === 'failed') ? undefined : refusalOf(isOwn, status);
  });
}

const maxMessageLength = 2_000;

function toReadable(failure: Failure | null): Failure {
  const code: ErrorCode = isErrorCode(failure?.code) ? failure.code : 'internal';
  const message = failure?.message ? failure.message.slice(0, maxMessageLength).toWellFormed().replaceAll('\0', '') : '';
  return { code, message: message === '' ? errorCodes[code].message : message };
}
