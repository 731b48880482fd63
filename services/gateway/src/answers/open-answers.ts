import { randomUUID } from 'node:crypto';
import { type CallContext, type Client, classifyCallFailure, withCall } from '@agent-service/contracts';
import { openReplyChannel, type RedisConnections } from '@agent-service/queues';
import type { Logger, ProcessContext } from '@agent-service/runtime';
import { createBatcher } from '@agent-service/work';
import { type Answers, createAnswers } from './answers.ts';
import { createStarts } from './start-answers.ts';
import { type AnswerKey, type AnswerState, WaiterRegistry } from './waiters.ts';

const tickMs = 200;
const drainMs = 8_000;
const cancelLimitMs = 5_000;
/** The process's limit for the drain. */
export const answersDrainLimitMs = 9_000;

interface OpenAnswersDeps {
  readonly agents: Client<'agents'>;
  readonly redis: RedisConnections;
  readonly waitMs: number;
}

interface OpenAnswers {
  readonly answers: Answers;
  /** Gives waiting requests some time to get their answers; then tells them where to read them. */
  stop(): Promise<void>;
}

/** Opens this process's reply channel and the registry of the requests that wait for its replies. */
export async function openAnswers(process: ProcessContext, { agents, redis, waitMs }: OpenAnswersDeps): Promise<OpenAnswers> {
  const { now } = process.clock;
  const read = createStateReader(agents, process.logger);
  // The channel may deliver while it is being opened.
  let lastGapAt = () => 0;
  const waits = new WaiterRegistry({ read, now, lastGapAt: () => lastGapAt() });
  const channel = await openReplyChannel(process, redis, (replies) => waits.deliver(replies));
  lastGapAt = () => channel.lastGapAt;
  const waiting = process.metrics.gauge('answers_waited_for', 'Requests of this process that wait for an answer', []);
  const timer = setInterval(() => {
    waits.tick();
    waiting.set(waits.size);
  }, tickMs);
  process.onStop('waiting', async () => clearInterval(timer));
  return {
    answers: createAnswers({
      start: createStarts(agents),
      cancel: createCancel(agents, process.logger),
      read,
      waits,
      replyChannel: channel.name,
      waitMs,
      now,
    }),
    stop: () => waits.drain(drainMs),
  };
}

/** Logs a failure only: it costs the organization an answer that no caller reads. */
const createCancel =
  (agents: Client<'agents'>, logger: Logger) =>
  async (agentId: string, messageId: string, { requestId, principal }: CallContext): Promise<void> => {
    try {
      await withCall({ requestId, principal, expiresAt: performance.now() + cancelLimitMs }, () =>
        agents.cancelAnswer({ agentId, messageId }),
      );
    } catch (cause) {
      logger.warn({ event: 'cancelling_failed', answer_id: messageId, err: cause });
    }
  };

const maxItems = 500;
const concurrency = 4;
const limitMs = 5_000;

/** Reads the state of answers in batches of one tenant; a batch that is too large for one message is split. */
function createStateReader(agents: Client<'agents'>, logger: Logger): (key: AnswerKey) => Promise<AnswerState> {
  const batcher = createBatcher<AnswerKey, AnswerState>({
    maxItems,
    concurrency,
    classify: classifyCallFailure,
    tenants: { of: (key) => key, lanes: 'each' },
    onFailure: (keys, cause) => logger.warn({ event: 'read_answers_failed', answers: keys.length, err: cause }),
    run: async (keys) => {
      // A batch mixes requests.
      const context = { requestId: randomUUID(), expiresAt: performance.now() + limitMs };
      const { results } = await withCall(context, () => agents.readAnswers({ items: keys }));
      return results;
    },
  });
  return (key) => batcher.add(key);
}
