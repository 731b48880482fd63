import { randomUUID } from 'node:crypto';
import { type Client, judgeCall, withCall } from '@agent-service/contracts';
import type { Logger } from '@agent-service/runtime';
import { createBatcher } from '@agent-service/work';
import type { AnswerKey, Standing } from './waits.ts';

const maxItems = 500;
const concurrency = 4;
const limitMs = 5_000;

/** Reads how answers stand, many of a tenant in one call; answers that are too large for one message are read by halves. */
export function createStandings(agents: Client<'agents'>, logger: Logger): (key: AnswerKey) => Promise<Standing> {
  const batcher = createBatcher<AnswerKey, Standing>({
    maxItems,
    concurrency,
    judge: judgeCall,
    tenants: { of: (key) => key, lanes: 'each' },
    onFailure: (keys, cause) => logger.warn({ event: 'read_answers_failed', answers: keys.length, err: cause }),
    run: async (keys) => {
      // A batch is nobody's request in particular.
      const context = { requestId: randomUUID(), expiresAt: performance.now() + limitMs };
      const { results } = await withCall(context, () => agents.readAnswers({ items: keys }));
      return results;
    },
  });
  return (key) => batcher.add(key);
}
