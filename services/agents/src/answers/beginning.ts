import type { ErrorCode } from '@agent-service/contracts';
import { type Batcher, createBatcher } from '@agent-service/work';
import { questionIdOf, timeOf } from './domain/ids.ts';
import { clockToleranceMs } from './domain/times.ts';
import { type Ender, failed, failureOf } from './ender.ts';
import { byKey, nameOf } from './key.ts';
import { isolation } from './lanes.ts';
import type { Parts } from './parts.ts';
import { type BegunRow, beginAnswers, type Claim, stillInHand } from './store/begin.ts';
import { loadHistories, type Turn } from './store/history.ts';

const batchItems = 200;

export type BeginOutcome =
  | { readonly begun: BegunRow; readonly history: readonly Turn[] }
  | { readonly refusal: { readonly code: ErrorCode } };

export type Beginning = Batcher<Claim, BeginOutcome>;

/** Gives answers to workers: one attempt each, with everything that it needs. */
export function createBeginning(parts: Parts, ender: Ender): Beginning {
  const { store, now } = parts;
  async function run(claims: Claim[]): Promise<BeginOutcome[]> {
    const rows = await beginAnswers(store.sql, unique(claims), now());
    const orphans = rows.filter(({ systemPrompt }) => systemPrompt === null);
    const begun = byKey(rows.filter(({ systemPrompt }) => systemPrompt !== null));
    const missing = claims.filter((claim) => begun.get(nameOf(claim))?.claim !== claim.claim);
    const [histories, inHand] = await Promise.all([historiesOf([...begun.values()]), inHandOf(missing), endOrphans(orphans)]);
    return claims.map((claim) => {
      const row = begun.get(nameOf(claim));
      if (row?.claim === claim.claim) return { begun: row, history: histories.get(nameOf(row)) ?? [] };
      return { refusal: { code: inHand.has(nameOf(claim)) ? 'attempt_superseded' : 'not_found' } };
    });
  }

  const inHandOf = async (claims: readonly Claim[]) =>
    new Set(claims.length === 0 ? [] : (await stillInHand(store.sql, claims)).map(nameOf));

  async function historiesOf(rows: readonly BegunRow[]): Promise<Map<string, Turn[]>> {
    const continuing = rows.filter(({ continues }) => continues);
    const histories = await loadHistories(store.sql, continuing.map(toEarlier));
    return new Map(continuing.map((row, index) => [nameOf(row), histories[index] ?? []]));
  }

  /** Their agent was deleted, and whoever did so did not come to end them. */
  async function endOrphans(rows: readonly BegunRow[]): Promise<void> {
    await ender.end(rows.map((row) => failed(row, failureOf('agent_deleted'))));
  }

  return createBatcher({ run, maxItems: batchItems, ...isolation<Claim>(parts) });
}

/** A statement changes a row once: of two claims for one answer the first is asked. */
const unique = (claims: readonly Claim[]): Claim[] => [...byKey(claims.toReversed()).values()];

const toEarlier = ({ organizationId, environment, id, conversationId }: BegunRow) => ({
  organizationId,
  environment,
  id,
  conversationId,
  questionId: questionIdOf(id),
  since: startOfConversation(conversationId),
});

/** A conversation's id is made with the time of its first answer; other clocks may be a little behind it. */
const startOfConversation = (id: string) => (timeOf(id.replace(/^conv_/, 'msg_')) ?? 0) - 2 * clockToleranceMs;
