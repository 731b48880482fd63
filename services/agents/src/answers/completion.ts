import type { ErrorCode } from '@agent-service/contracts';
import { type Batcher, createBatcher } from '@agent-service/work';
import { timeOf } from './domain/ids.ts';
import { type AttemptKey, byKey, nameOf } from './key.ts';
import { isolation } from './lanes.ts';
import type { Parts } from './parts.ts';
import type { RetryQueue } from './retry-queue.ts';
import { loadStandings, type Result, type Settling, type Standing, storeResults } from './store/complete.ts';

const batchItems = 200;

/** Undefined: the end was taken. */
export type EndRefusal = { readonly code: ErrorCode } | undefined;

/** Stores results, each once and of the newest attempt only; they are paid for at once. */
export function createCompletion(parts: Parts, settling: RetryQueue<Settling>): Batcher<Result, EndRefusal> {
  const { process, store, now } = parts;

  async function run(results: Result[]): Promise<EndRefusal[]> {
    const newest = byKey(results.toSorted((a, b) => a.attempt - b.attempt));
    const rows = await storeResults(store.sql, [...newest.values()], now());
    const stored = byKey(rows);
    settling.add(rows.flatMap((row) => joined(row, newest.get(nameOf(row)))));
    const others = results.filter((result) => stored.get(nameOf(result))?.attempt !== result.attempt);
    const standings = await standingsOf(parts, others);
    return results.map((result) => {
      if (stored.get(nameOf(result))?.attempt === result.attempt) return undefined;
      return refusalOf(result, standings.get(nameOf(result)));
    });
  }

  function onFailure([first, ...rest]: Result[], cause: unknown): void {
    const { id, organizationId } = first as Result;
    process.logger.error({ event: 'storing_failed', answer_id: id, organization_id: organizationId, more: rest.length, err: cause });
  }

  return createBatcher({ run, maxItems: batchItems, onFailure, ...isolation<Result>(parts) });
}

const joined = (row: Awaited<ReturnType<typeof storeResults>>[number], result: Result | undefined): Settling[] =>
  result
    ? [
        {
          ...row,
          content: result.content,
          contentType: result.contentType,
          inputTokens: result.inputTokens,
          outputTokens: result.outputTokens,
          queries: [...result.queries],
        },
      ]
    : [];

/** How answers stand that attempts could not end. */
export async function standingsOf({ store }: Pick<Parts, 'store'>, attempts: readonly AttemptKey[]): Promise<Map<string, Standing>> {
  if (attempts.length === 0) return new Map();
  return byKey(
    await loadStandings(
      store.sql,
      [...byKey(attempts).values()].map((key) => ({ ...key, createdAt: timeOf(key.id) ?? 0 })),
    ),
  );
}

/** A result that was stored before, by the same attempt, is taken again without anything more happening. */
function refusalOf({ attempt }: AttemptKey, standing: Standing | undefined): EndRefusal {
  const mine = standing?.attempt === attempt;
  if (mine && (standing.state === 'settling' || standing.status === 'completed')) return undefined;
  // Still in hand and this attempt's, and yet not stored: a failure that the log names. It may be tried again.
  if (mine && standing.state === 'running') return { code: 'unavailable' };
  return { code: standing && (standing.state !== null || standing.status === 'completed') ? 'attempt_superseded' : 'not_found' };
}
