import { newId } from '@agent-service/contracts';
import { callByTenant, RetryQueue, tenantName } from '@agent-service/work';
import { type AnswersDeps, batchOptions, callDetached } from './deps.ts';
import type { Dispatcher } from './dispatch.ts';
import { announceEnds, type EndAnswers, type EndedAnswer } from './end.ts';
import { type AnswerKey, byKey, nameOf } from './keys.ts';
import { toMessage } from './read.ts';
import type { Settlement } from './store/complete.ts';
import { type ChargedEnd, endCharged, markUnusedHolds, removeReleased } from './store/end.ts';

const limitMs = 6_000;
const maxSweptReleases = 2_000;
/** With these codes it is not known yet whether the ledger has settled. */
const temporary = new Set(['unavailable', 'deadline_exceeded', 'cancelled', 'internal']);

interface SettleResult {
  readonly charged?: number | null;
  readonly refusal?: { readonly code: string } | null;
}

/** A retry queue of answers that owe the ledger a call. */
const createQueue = <Item extends AnswerKey>(
  deps: AnswersDeps,
  name: string,
  run: (items: Item[]) => Promise<(boolean | Error)[]>,
  maxSwept?: number,
): RetryQueue<Item> =>
  new RetryQueue<Item>({
    name,
    run,
    keyOf: nameOf,
    batch: {
      ...batchOptions<Item>(deps),
      onFailure(items, cause) {
        const ids = { answers: items.length, answer_id: items[0]?.id, organization_id: items[0]?.organizationId };
        deps.process.logger.warn({ event: 'retry_failed', work: name, ...ids, err: cause });
      },
    },
    runInBackground: deps.background.run,
    stopping: deps.process.stopping,
    ...(maxSwept !== undefined && { maxSwept }),
  });

/** Settles stored results with the ledger, and ends their answers. */
export function createSettlements(deps: AnswersDeps, dispatcher: Dispatcher, endAnswers: EndAnswers): RetryQueue<Settlement> {
  const { process, store, credits, slowTenants, metrics } = deps;

  async function settle(settlements: Settlement[]): Promise<(boolean | Error)[]> {
    const startedAt = performance.now();
    const results: (SettleResult | Error)[] = await callByTenant(settlements, settleOfTenant);
    const refused: Settlement[] = [];
    const charged: { settlement: Settlement; credits: number }[] = [];
    for (const [index, settlement] of settlements.entries()) {
      const result = results[index];
      if (result === undefined || result instanceof Error) continue;
      if (!result.refusal) charged.push({ settlement, credits: result.charged ?? 0 });
      else if (!temporary.has(result.refusal.code)) {
        logRefusal(settlement, result.refusal.code);
        refused.push(settlement);
      }
    }
    await Promise.all([endAll(charged), endAnswers.endUnsettled(refused)]);
    for (const _ of charged) metrics.settled(performance.now() - startedAt);
    return results.map((result) => (result instanceof Error ? result : !temporary.has(result.refusal?.code ?? '')));
  }

  async function settleOfTenant(settlements: readonly Settlement[]): Promise<SettleResult[]> {
    const { results } = await callDetached(limitMs, () => credits.settle({ items: settlements.map(settleItem) }));
    const [first] = settlements;
    if (first && results.some(({ refusal }) => refusal?.code === 'unavailable')) slowTenants.add(tenantName(first));
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
    dispatcher.dispatchAfterEnds(rows);
    if (rows.length > 0) deps.eventRelay?.nudge();
  }

  /** The hold was released, or never existed: only a fault of this service brings that about. */
  function logRefusal({ id, organizationId }: AnswerKey, code: string): void {
    process.logger.error({ event: 'settle_refused', answer_id: id, organization_id: organizationId, code });
  }

  return createQueue<Settlement>(deps, 'settling', settle);
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
  querySummary: settlement.summary,
});

function toChargedEnd({ events, now }: AnswersDeps, settlement: Settlement, credits: number): ChargedEnd {
  const { organizationId, environment, id, acceptedAt: createdAt } = settlement;
  return { organizationId, environment, id, createdAt, credits, event: events ? toEvent(settlement, credits, now()) : null };
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

/** Releases holds that are not to be settled. */
export interface Releases {
  /** Holds of answers in the state `releasing`. */
  readonly queue: RetryQueue<AnswerKey>;
  /** Releases holds whose messages were not accepted, or perhaps not. The hold of a message that was accepted after all is kept. */
  releaseUnused(holds: readonly AnswerKey[]): void;
}

export function createReleases(deps: AnswersDeps): Releases {
  const { process, store, credits, now } = deps;
  const queue = createQueue<AnswerKey>(deps, 'releasing holds', release, maxSweptReleases);
  const unused = createQueue<AnswerKey>(deps, 'releasing unused holds', markUnused);

  async function markUnused(holds: AnswerKey[]): Promise<boolean[]> {
    queue.add(await markUnusedHolds(store.sql, holds, now()));
    return holds.map(() => true);
  }

  async function release(holds: AnswerKey[]): Promise<(boolean | Error)[]> {
    const results = await callByTenant(holds, async (ofTenant) => {
      const { results } = await callDetached(limitMs, () => credits.release({ items: ofTenant.map(releaseItem) }));
      return ofTenant.map((_, index) => results[index] ?? {});
    });
    const outcomes = holds.map((hold, index) => {
      const result = results[index];
      return result instanceof Error ? result : isReleased(hold, result?.refusal?.code);
    });
    const released = holds.filter((_, index) => outcomes[index] === true);
    if (released.length > 0) await removeReleased(store.sql, released, now());
    return outcomes;
  }

  /** A settled hold needs no release: the answer was charged before. */
  function isReleased({ id, organizationId }: AnswerKey, refusal: string | undefined): boolean {
    if (refusal === undefined) return true;
    process.logger.warn({ event: 'release_refused', answer_id: id, organization_id: organizationId, code: refusal });
    return refusal === 'hold_settled';
  }

  return { queue, releaseUnused: (holds) => unused.add(holds) };
}

const releaseItem = ({ organizationId, environment, id }: AnswerKey) => ({ tenant: { organizationId, environment }, holdId: id });
