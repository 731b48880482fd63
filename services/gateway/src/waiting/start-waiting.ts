import { type CallContext, type Client, withCall } from '@agent-service/contracts';
import { openChannel, type RedisConnections, type Reply } from '@agent-service/queues';
import type { Logger, ProcessContext } from '@agent-service/runtime';
import { type Answers, createAnswers } from './answers.ts';
import { createStandings } from './standings.ts';
import { createStarts } from './starts.ts';
import { Waits } from './waits.ts';

const tickMs = 200;
const drainMs = 8_000;
const cancelLimitMs = 5_000;
/** What the process allows for it. */
export const waitingDrainLimitMs = 9_000;

export interface WaitingParts {
  readonly agents: Client<'agents'>;
  readonly redis: RedisConnections;
  readonly waitMs: number;
}

export interface Waiting {
  readonly answers: Answers;
  /** Lets those who wait have their answers within the limit; then tells them where to read them. */
  stop(): Promise<void>;
}

/** Opens this process's reply channel and the waiting room behind it. */
export async function startWaiting(process: ProcessContext, { agents, redis, waitMs }: WaitingParts): Promise<Waiting> {
  const { now } = process.clock;
  const read = createStandings(agents, process.logger);
  // The room is there before the channel, which may deliver while it is being opened.
  let lastGapAt = () => 0;
  const waits = new Waits({ read, now, lastGapAt: () => lastGapAt() });
  const channel = await openChannel<Reply>(process, redis, 'replies', (replies) => waits.deliver(replies));
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

/** What fails here only costs the organization an answer that nobody reads. */
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
