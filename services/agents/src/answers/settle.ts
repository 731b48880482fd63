import { callDetached, isAway, isPublicErrorCode, newId, type PublicErrorCode, publicErrorCodes } from '@agent-service/contracts';
import { toStorable } from '@agent-service/contracts/text';
import { type Batcher, callByTenant, createBatcher, type RetryQueue, tenantName } from '@agent-service/work';
import { type AnswerKey, type AttemptKey, batchFields, byKey, nameOf, takeOverMs, withTime } from '../shared/answer.ts';
import { type AnswersDeps, batchOptions, createRetryQueue } from './deps.ts';
import { announceEnds, type DispatchAfterEnds, type EndAnswers, type EndedAnswer, type Failure, toFailedEnd, toMessage } from './end.ts';
import {
  type AnswerStatus,
  type ChargedEnd,
  endCharged,
  loadStatuses,
  type Result,
  type Settlement,
  type StoredResult,
  storeResults,
  type UnchargedEnd,
} from './store/end.ts';

const batchItems = 200;

/** Why the end of an attempt was not accepted; undefined where it was. */
export type EndRefusal = { readonly code: 'attempt_superseded' | 'not_found' | 'unavailable' } | undefined;

/** Stores results, each once and only of the newest attempt, and has them settled at once. */
export function createCompleteBatcher(deps: AnswersDeps, settlements: RetryQueue<Settlement>): Batcher<Result, EndRefusal> {
  const { process, store, credits, now } = deps;

  async function run(results: Result[]): Promise<EndRefusal[]> {
    const newest = newestOf(results);
    // If this process does not reach credits, one that does may settle them at once.
    const due = now() + (credits.isReachable() ? takeOverMs : 0);
    const rows = byKey(await storeResults(store.sql, [...newest.values()], due));
    settlements.add([...rows].map(([name, row]) => toSettlement(row, newest.get(name) as Result)));
    const isStored = (result: Result) => rows.get(nameOf(result))?.attempt === result.attempt;
    const statuses = await loadStatusesOf(
      deps,
      results.filter((result) => !isStored(result)),
    );
    return results.map((result) => (isStored(result) ? undefined : refusalOfResult(result, statuses.get(nameOf(result)))));
  }

  const onFailure = (results: readonly Result[], cause: unknown) =>
    process.logger.error({ event: 'storing_failed', ...batchFields(results), err: cause });

  return createBatcher({ run, maxItems: batchItems, onFailure, ...batchOptions<Result>(deps) });
}

const newestOf = <Key extends AttemptKey>(attempts: readonly Key[]): Map<string, Key> =>
  byKey(attempts.toSorted((a, b) => a.attempt - b.attempt));

const toSettlement = (row: StoredResult, { content, contentType, inputTokens, outputTokens, refused, queries }: Result): Settlement => ({
  ...row,
  content,
  contentType,
  inputTokens,
  outputTokens,
  refused,
  queries,
  storedAt: performance.now(),
});

async function loadStatusesOf({ store }: AnswersDeps, attempts: readonly AttemptKey[]): Promise<Map<string, AnswerStatus>> {
  if (attempts.length === 0) return new Map();
  const keys = [...byKey(attempts).values()].map(withTime);
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
  /** The steps before it. */
  readonly done?: Pick<UnchargedEnd, 'queries' | 'record'>;
}

/** Ends answers that their workers could not produce, unless there is a newer attempt. */
export async function failAttempts(deps: AnswersDeps, endAnswers: EndAnswers, attempts: readonly FailedAttempt[]): Promise<EndRefusal[]> {
  const ends = [...newestOf(attempts).values()].map((attempt) => ({
    ...toFailedEnd(attempt, toReadable(attempt.failure), attempt.attempt),
    ...attempt.done,
  }));
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
  const code: PublicErrorCode = isPublicErrorCode(failure?.code) ? failure.code : 'internal';
  const message = toStorable(failure?.message ?? '', maxMessageLength);
  return { code, message: message === '' ? publicErrorCodes[code].message : message };
}

const limitMs = 6_000;
/** True if it is not known yet whether the ledger has settled. */
const isUndecided = (code: string): boolean => isAway(code) || code === 'internal';

interface SettleResult {
  readonly charged?: number | null;
  readonly refusal?: { readonly code: string } | null;
}

/** Settles stored results with the ledger, and ends their answers. */
export function createSettlements(deps: AnswersDeps, dispatchAfterEnds: DispatchAfterEnds, endAnswers: EndAnswers): RetryQueue<Settlement> {
  const { process, store, credits, slowTenants, metrics } = deps;

  async function settle(settlements: Settlement[]): Promise<(boolean | Error)[]> {
    const results: (SettleResult | Error)[] = await callByTenant(settlements, settleOfTenant);
    const refused: Settlement[] = [];
    const undecided: (Settlement & { readonly code: string })[] = [];
    const charged: { settlement: Settlement; credits: number }[] = [];
    for (const [index, settlement] of settlements.entries()) {
      const result = results[index];
      if (result === undefined || result instanceof Error) continue;
      if (!result.refusal) charged.push({ settlement, credits: result.charged ?? 0 });
      else if (isUndecided(result.refusal.code)) undecided.push({ ...settlement, code: result.refusal.code });
      else {
        logRefusal(settlement, result.refusal.code);
        refused.push(settlement);
      }
    }
    logUndecided(undecided);
    await Promise.all([endAll(charged), endAnswers.endUnsettled(refused)]);
    return results.map((result) => (result instanceof Error ? result : !isUndecided(result.refusal?.code ?? '')));
  }

  async function settleOfTenant(settlements: readonly Settlement[]): Promise<SettleResult[]> {
    const { results } = await callDetached(limitMs, () => credits.settle({ items: settlements.map(settleItem) }));
    const [first] = settlements;
    if (first && results.some(({ refusal }) => refusal?.code === 'unavailable')) slowTenants.ledger.add(tenantName(first));
    return settlements.map((_, index) => results[index] ?? { refusal: { code: 'internal' } });
  }

  async function endAll(charged: readonly { settlement: Settlement; credits: number }[]): Promise<void> {
    if (charged.length === 0) return;
    const all = byKey(charged.map(({ settlement, credits }) => ({ ...settlement, credits })));
    const rows = await endCharged(
      store.sql,
      charged.map(({ settlement, credits }) => toChargedEnd(deps, settlement, credits)),
    );
    announceEnds(
      deps,
      rows.flatMap((row) => {
        const settlement = all.get(nameOf(row));
        return settlement ? [toEndedAnswer(settlement, settlement.credits)] : [];
      }),
    );
    for (const row of rows) {
      const storedAt = all.get(nameOf(row))?.storedAt;
      if (storedAt !== undefined) metrics.observeSettlement(performance.now() - storedAt);
    }
    dispatchAfterEnds(rows);
    if (rows.length > 0) deps.eventRelay?.nudge();
  }

  /** The hold was released, or never existed: only a bug causes this. */
  function logRefusal({ id, organizationId }: AnswerKey, code: string): void {
    process.logger.error({ event: 'settle_refused', answer_id: id, organization_id: organizationId, code });
  }

  /** These are retried until the ledger decides. One that it cannot decide keeps its conversation busy, so an operator has to act. */
  function logUndecided(undecided: readonly (AnswerKey & { readonly code: string })[]): void {
    if (undecided.length === 0) return;
    const level = undecided.some(({ code }) => code === 'internal') ? 'error' : 'warn';
    process.logger[level]({ event: 'settle_undecided', ...batchFields(undecided), code: undecided[0]?.code });
  }

  return createRetryQueue<Settlement>(deps, 'settling', settle);
}

const settleItem = (settlement: Settlement) => ({
  tenant: { organizationId: settlement.organizationId, environment: settlement.environment },
  holdId: settlement.id,
  agentId: settlement.agentId,
  agentName: settlement.agentName,
  conversationId: settlement.conversationId,
  tier: settlement.tier,
  inputTokens: settlement.inputTokens,
  outputTokens: settlement.outputTokens,
  ...(settlement.refused && { amount: 0 }),
  querySummary: settlement.summary,
});

function toChargedEnd({ eventRelay, now }: AnswersDeps, settlement: Settlement, credits: number): ChargedEnd {
  const { organizationId, environment, id, acceptedAt: createdAt } = settlement;
  return { organizationId, environment, id, createdAt, credits, event: eventRelay ? toEvent(settlement, credits, now()) : null };
}

const toEndedAnswer = (settlement: Settlement, credits: number): EndedAnswer => ({
  ...settlement,
  message: toMessage({
    id: settlement.id,
    conversationId: settlement.conversationId,
    agentId: settlement.agentId,
    content: settlement.content,
    contentType: settlement.contentType,
    credits,
    tier: settlement.tier,
    createdAt: settlement.acceptedAt,
    status: 'completed',
    failure: null,
    queries: settlement.queries,
  }),
  outcome: 'completed',
  workerChannel: '',
});

function toEvent(settlement: Settlement, credits: number, now: number) {
  const { organizationId, environment } = settlement;
  const id = newId('evt');
  const createdAt = new Date(now).toISOString();
  const data = {
    organization_id: organizationId,
    agent_id: settlement.agentId,
    conversation_id: settlement.conversationId,
    message_id: settlement.id,
    user_id: settlement.userId,
    credits_consumed: credits,
    model_used: settlement.tier,
    completed_at: createdAt,
  };
  return { id, type: 'conversation.completed', organizationId, environment, createdAt, data };
}
