import { randomUUID } from 'node:crypto';
import { type Client, ServiceError, withCall } from '@agent-service/contracts';
import { createBatcher, type Logger } from '@agent-service/runtime';
import type { AnswerKey, Standing } from './waits.ts';

const maxItems = 500;
const concurrency = 4;
const limitMs = 5_000;

/** Reads how answers stand, many in one call. */
export function createStandings(agents: Client<'agents'>, logger: Logger): (key: AnswerKey) => Promise<Standing> {
  const ask = async (keys: AnswerKey[]): Promise<Standing[]> => {
    // A batch is nobody's request in particular.
    const context = { requestId: randomUUID(), expiresAt: performance.now() + limitMs };
    const { results } = await withCall(context, () => agents.readAnswers({ items: keys }));
    return results;
  };

  /** Long texts may make an answer that is too large to be sent; then halves are asked for. */
  async function askInParts(keys: AnswerKey[]): Promise<Standing[]> {
    try {
      return await ask(keys);
    } catch (cause) {
      if (keys.length === 1 || ServiceError.from(cause).code !== 'internal') throw cause;
      const half = Math.ceil(keys.length / 2);
      return [...(await askInParts(keys.slice(0, half))), ...(await askInParts(keys.slice(half)))];
    }
  }

  const batcher = createBatcher<AnswerKey, Standing>({
    maxItems,
    concurrency,
    run: (keys) =>
      askInParts(keys).catch((cause: unknown) => {
        logger.warn({ event: 'read_answers_failed', answers: keys.length, err: cause });
        throw cause;
      }),
  });
  return (key) => batcher.add(key);
}
