import { callByTenant } from '@agent-service/work';
import { detached } from './detached.ts';
import type { AnswerKey } from './key.ts';
import type { Parts } from './parts.ts';
import { createRetryQueue, type RetryQueue } from './retry-queue.ts';
import { disownHolds, forgetReleased } from './store/holds.ts';

const limitMs = 6_000;
const mostFound = 2_000;

export interface Releases {
  /** Of answers that stand as `releasing`. */
  readonly queue: RetryQueue<AnswerKey>;
  /** Holds whose messages were not accepted, or not for sure. One whose message was accepted after all is kept. */
  disown(holds: readonly AnswerKey[]): void;
}

/** Frees the holds of what nobody pays for. */
export function createReleases({ process, background, store, credits, slowTenants, now }: Parts): Releases {
  const shared = { process, background, slowTenants };
  const queue = createRetryQueue<AnswerKey>({ ...shared, name: 'releasing holds', run: release, maxFound: mostFound });
  const disowning = createRetryQueue<AnswerKey>({ ...shared, name: 'disowning holds', run: disownAll });

  async function disownAll(holds: AnswerKey[]): Promise<boolean[]> {
    queue.add(await disownHolds(store.sql, holds, now()));
    return holds.map(() => true);
  }

  async function release(answers: AnswerKey[]): Promise<(boolean | Error)[]> {
    const results = await callByTenant(answers, async (some) => {
      const { results } = await detached(limitMs, () => credits.release({ items: some.map(releaseItem) }));
      return some.map((_, index) => results[index] ?? {});
    });
    const done = answers.map((answer, index) => {
      const result = results[index];
      return result instanceof Error ? result : isReleased(answer, result?.refusal?.code);
    });
    const released = answers.filter((_, index) => done[index] === true);
    if (released.length > 0) await forgetReleased(store.sql, released, now());
    return done;
  }

  /** A settled hold is no longer to be released: somebody was paid before he asked for this. */
  function isReleased(answer: AnswerKey, refusal: string | undefined): boolean {
    if (refusal === undefined) return true;
    process.logger.warn({ event: 'release_refused', answer_id: answer.id, organization_id: answer.organizationId, code: refusal });
    return refusal === 'hold_settled';
  }

  return { queue, disown: (holds) => disowning.add(holds) };
}

const releaseItem = ({ organizationId, environment, id }: AnswerKey) => ({ tenant: { organizationId, environment }, holdId: id });
