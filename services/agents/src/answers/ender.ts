import { type ErrorCode, errorCodes } from '@agent-service/contracts';
import { judgeStatement, type Sql } from '@agent-service/store';
import { createBatcher } from '@agent-service/work';
import type { Ended } from './announcer.ts';
import type { Dispatcher } from './dispatcher.ts';
import { timeOf } from './domain/ids.ts';
import { type AnswerKey, byKey, nameOf } from './key.ts';
import { isolation } from './lanes.ts';
import { toMessage } from './message.ts';
import type { Parts } from './parts.ts';
import type { Releases } from './release.ts';
import { endUnpaid, type Unpaid, type UnpaidRow } from './store/end-unpaid.ts';

const batchItems = 500;

export interface Failure {
  readonly code: string;
  readonly message: string;
}

/** Ends answers that nobody pays for: their holds are released, and everybody is told at once. */
export interface Ender {
  /** Those that ended by this call. */
  end(answers: readonly Unpaid[]): Promise<UnpaidRow[]>;
  /** The same inside somebody's transaction; the rest follows when it has committed. */
  endWithin(sql: Sql, answers: readonly Unpaid[]): Promise<{ ended: number; committed(): void }>;
  unpayable(answers: readonly AnswerKey[]): Promise<UnpaidRow[]>;
}

export function failureOf(code: ErrorCode): Failure {
  return { code, message: errorCodes[code].message };
}

const uncharged = 'No credits were charged.';

/** A failed answer, which says so. */
export const failed = (key: AnswerKey, failure: Failure, attempt: number | null = null): Unpaid => ({
  ...bare(key),
  status: 'failed',
  content: failure.message.includes(uncharged)
    ? `This message could not be answered. ${failure.message}`
    : `This message could not be answered. ${failure.message} ${uncharged}`,
  failure,
  attempt,
});

export const cancelled = (key: AnswerKey): Unpaid => ({
  ...bare(key),
  status: 'cancelled',
  content: `The answer was cancelled. ${uncharged}`,
  failure: { code: '', message: '' },
  attempt: null,
});

const bare = ({ organizationId, environment, id }: AnswerKey) => ({ organizationId, environment, id, createdAt: timeOf(id) ?? 0 });

export function createEnder(parts: Parts, dispatcher: Dispatcher, releases: Releases): Ender {
  const { process, store, announcer, jobs, now } = parts;
  const batcher = createBatcher<Unpaid, UnpaidRow | undefined>({ run, maxItems: batchItems, onFailure, ...isolation<Unpaid>(parts) });

  function follow(rows: readonly UnpaidRow[], asked: ReadonlyMap<string, Unpaid>): void {
    announcer.ended(
      rows.flatMap((row) => {
        const unpaid = asked.get(nameOf(row));
        return unpaid ? [toEnded(row, unpaid)] : [];
      }),
    );
    jobs.remove(rows.filter(({ was }) => was === 'dispatched'));
    releases.queue.add(rows);
    dispatcher.afterEnds(rows);
  }

  async function run(answers: Unpaid[]): Promise<(UnpaidRow | undefined)[]> {
    // A statement changes a row once: of two ends of one answer the first is tried.
    const asked = byKey(answers.toReversed());
    const rows = await endUnpaid(store.sql, [...asked.values()], now());
    follow(rows, asked);
    const ended = byKey(rows);
    return answers.map((answer) => (asked.get(nameOf(answer)) === answer ? ended.get(nameOf(answer)) : undefined));
  }

  function onFailure([first, ...rest]: Unpaid[], cause: unknown): void {
    const { id, organizationId } = first as Unpaid;
    process.logger.error({ event: 'ending_failed', answer_id: id, organization_id: organizationId, more: rest.length, err: cause });
  }

  /** Throws where the database is away; an answer that can not be ended is not among what comes back. */
  async function end(answers: readonly Unpaid[]): Promise<UnpaidRow[]> {
    const outcomes = await Promise.allSettled(answers.map((answer) => batcher.add(answer)));
    const away = outcomes.find((outcome) => outcome.status === 'rejected' && judgeStatement(outcome.reason) === 'all');
    if (away?.status === 'rejected') throw away.reason;
    return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' && outcome.value ? [outcome.value] : []));
  }

  return {
    end,
    async endWithin(sql, answers) {
      const rows = await endUnpaid(sql, answers, now());
      return { ended: rows.length, committed: () => follow(rows, byKey(answers)) };
    },
    unpayable: (answers) => end(answers.map((key) => ({ ...failed(key, failureOf('internal')), unpayable: true }))),
  };
}

const toEnded = (row: UnpaidRow, { status, content, failure, attempt }: Unpaid): Ended => ({
  organizationId: row.organizationId,
  environment: row.environment,
  id: row.id,
  message: toMessage({
    id: row.id,
    conversationId: row.conversationId,
    agentId: row.agentId,
    content,
    contentType: 'markdown',
    credits: 0,
    tier: row.tier,
    createdAt: row.acceptedAt,
    status,
    failure: failure.code === '' ? null : failure,
    queries: [],
  }),
  outcome: status,
  userId: row.userId,
  attempt: row.attempt,
  dispatches: row.dispatches,
  acceptedAt: row.acceptedAt,
  replyChannels: row.replyChannels,
  requestId: row.requestId,
  // The worker that reports a failure knows of it.
  workerChannel: attempt === null && row.was === 'running' ? row.workerChannel : '',
});
