import type { ErrorCode } from '@agent-service/contracts';
import { type Batcher, createBatcher } from '@agent-service/work';
import { type AnswersDeps, batchOptions } from './deps.ts';
import { timeOf, userMessageIdOf } from './domain/message-id.ts';
import { clockToleranceMs } from './domain/times.ts';
import { type EndAnswers, failed, failureOf } from './end.ts';
import { type AnswerKey, byKey, firstOfEachKey, nameOf } from './keys.ts';
import { type BegunRow, beginAnswers, type Claim, findUnended, loadHistories, type Turn } from './store/begin.ts';

const batchItems = 200;

export type BeginOutcome =
  | { readonly begun: BegunRow; readonly history: readonly Turn[] }
  | { readonly refusal: { readonly code: ErrorCode } };

/** Gives answers to workers: each gets one attempt, with everything that it needs. */
export function createBegin(deps: AnswersDeps, endAnswers: EndAnswers): Batcher<Claim, BeginOutcome> {
  const { store, now } = deps;

  async function run(claims: Claim[]): Promise<BeginOutcome[]> {
    // A statement changes a row once: of two claims for one answer only the first runs.
    const rows = await beginAnswers(store.sql, firstOfEachKey(claims), now());
    const orphans = rows.filter(({ systemPrompt }) => systemPrompt === null);
    const begun = byKey(rows.filter(({ systemPrompt }) => systemPrompt !== null));
    const missing = claims.filter((claim) => begun.get(nameOf(claim))?.claim !== claim.claim);
    const [histories, unended] = await Promise.all([loadHistoriesOf([...begun.values()]), findNames(missing), endOrphans(orphans)]);
    return claims.map((claim) => {
      const row = begun.get(nameOf(claim));
      if (row?.claim === claim.claim) return { begun: row, history: histories.get(nameOf(row)) ?? [] };
      return { refusal: { code: unended.has(nameOf(claim)) ? 'attempt_superseded' : 'not_found' } };
    });
  }

  const findNames = async (keys: readonly AnswerKey[]): Promise<Set<string>> =>
    new Set(keys.length === 0 ? [] : (await findUnended(store.sql, keys)).map(nameOf));

  async function loadHistoriesOf(rows: readonly BegunRow[]): Promise<Map<string, Turn[]>> {
    const continuing = rows.filter(({ continues }) => continues);
    const histories = await loadHistories(store.sql, continuing.map(toHistoryKey));
    return new Map(continuing.map((row, index) => [nameOf(row), histories[index] ?? []]));
  }

  /** The agent was deleted by a process that died before it ended these answers. */
  async function endOrphans(rows: readonly BegunRow[]): Promise<void> {
    await endAnswers.end(rows.map((row) => failed(row, failureOf('agent_deleted'))));
  }

  return createBatcher({ run, maxItems: batchItems, ...batchOptions<Claim>(deps) });
}

const toHistoryKey = ({ organizationId, environment, id, conversationId }: BegunRow) => ({
  organizationId,
  environment,
  id,
  conversationId,
  userMessageId: userMessageIdOf(id),
  since: startOfConversation(conversationId),
});

/** The id of a conversation has the time of its first answer; the clocks that made its messages may be a little behind it. */
const startOfConversation = (id: string) => (timeOf(id.replace(/^conv_/, 'msg_')) ?? 0) - 2 * clockToleranceMs;
