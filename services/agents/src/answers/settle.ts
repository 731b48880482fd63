import { newId } from '@agent-service/contracts';
import { callByTenant, tenantName } from '@agent-service/work';
import { detached } from './detached.ts';
import type { Dispatcher } from './dispatcher.ts';
import type { Ender } from './ender.ts';
import { byKey, nameOf } from './key.ts';
import { toMessage } from './message.ts';
import type { Parts } from './parts.ts';
import { createRetryQueue, type RetryQueue } from './retry-queue.ts';
import type { Settling } from './store/complete.ts';
import { endPaid, type Paid } from './store/end-paid.ts';

const limitMs = 6_000;
/** Nobody can say yet whether they were charged. */
const passing = new Set(['unavailable', 'deadline_exceeded', 'cancelled', 'internal']);

interface SettleResult {
  readonly charged?: number | null;
  readonly refusal?: { readonly code: string } | null;
}

interface Charged {
  readonly answer: Settling;
  readonly paid: Paid;
}

/** Has stored results paid for, and ends them. */
export function createSettling(parts: Parts, dispatcher: Dispatcher, ender: Ender): RetryQueue<Settling> {
  const { process, background, store, credits, metrics, announcer, now } = parts;

  async function settle(answers: Settling[]): Promise<(boolean | Error)[]> {
    const startedAt = performance.now();
    const results = await callByTenant(answers, settleOfTenant);
    const outcomes = answers.map((answer, index) => ({ answer, result: results[index] as SettleResult | Error }));
    const told = outcomes.flatMap(({ answer, result }) => (result instanceof Error ? [] : [{ answer, result }]));
    const unpayable = told.filter(({ result }) => result.refusal && !passing.has(result.refusal.code));
    for (const { answer, result } of unpayable) refused(answer, result.refusal?.code ?? '');
    const charged = told.flatMap(({ answer, result }) => (result.refusal ? [] : [{ answer, paid: toPaid(answer, result.charged ?? 0) }]));
    await Promise.all([end(charged), ender.unpayable(unpayable.map(({ answer }) => answer))]);
    for (const _ of charged) metrics.settled(performance.now() - startedAt);
    return outcomes.map(({ result }) => (result instanceof Error ? result : !passing.has(result.refusal?.code ?? '')));
  }

  async function settleOfTenant(answers: readonly Settling[]): Promise<SettleResult[]> {
    const { results } = await detached(limitMs, () => credits.settle({ items: answers.map(settleItem) }));
    const [first] = answers;
    if (first && results.some(({ refusal }) => refusal?.code === 'unavailable')) parts.slowTenants.add(tenantName(first));
    return answers.map((_, index) => results[index] ?? { refusal: { code: 'internal' } });
  }

  async function end(charged: readonly Charged[]): Promise<void> {
    const all = byKey(charged.map(({ answer, paid }) => ({ ...answer, paid })));
    if (charged.length === 0) return;
    const rows = await endPaid(
      store.sql,
      charged.map(({ paid }) => paid),
    );
    announcer.ended(
      rows.flatMap((row) => {
        const answer = all.get(nameOf(row));
        return answer ? [toEnded(answer, answer.paid.credits)] : [];
      }),
    );
    dispatcher.afterEnds(rows);
    if (rows.length > 0) parts.eventRelay?.nudge();
  }

  function toPaid(answer: Settling, charge: number): Paid {
    const { organizationId, environment, id, acceptedAt: createdAt } = answer;
    return { organizationId, environment, id, createdAt, credits: charge, event: parts.events ? toEvent(answer, charge, now()) : null };
  }

  /** The hold was settled otherwise or is gone, which nobody but a mistake of ours can bring about. */
  function refused({ id, organizationId }: Settling, code: string): void {
    process.logger.error({ event: 'settle_refused', answer_id: id, organization_id: organizationId, code });
  }

  return createRetryQueue<Settling>({ name: 'settling', process, background, slowTenants: parts.slowTenants, run: settle });
}

const settleItem = (answer: Settling) => ({
  tenant: { organizationId: answer.organizationId, environment: answer.environment },
  holdId: answer.id,
  agentId: answer.agentId,
  agentName: answer.agentName,
  conversationId: answer.conversationId,
  tier: answer.tier,
  inputTokens: answer.inputTokens,
  outputTokens: answer.outputTokens,
  querySummary: answer.summary,
});

const toEnded = (answer: Settling, credits: number) => ({
  ...answer,
  message: toMessage({
    id: answer.id,
    conversationId: answer.conversationId,
    agentId: answer.agentId,
    content: answer.content,
    contentType: answer.contentType,
    credits,
    tier: answer.tier,
    createdAt: answer.acceptedAt,
    status: 'completed',
    failure: null,
    queries: answer.queries,
  }),
  outcome: 'completed' as const,
  workerChannel: '',
});

function toEvent(answer: Settling, credits: number, now: number) {
  const { organizationId, environment } = answer;
  const id = newId('evt');
  const at = new Date(now).toISOString();
  const data = {
    organization_id: organizationId,
    agent_id: answer.agentId,
    conversation_id: answer.conversationId,
    message_id: answer.id,
    user_id: answer.userId,
    credits_consumed: credits,
    model_used: answer.tier,
    completed_at: at,
  };
  return { id, type: 'conversation.completed', organizationId, environment, createdAt: at, data };
}
