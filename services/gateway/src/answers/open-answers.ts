import { type AnswerRecord, type Client, callDetached, classifyCallFailure } from '@agent-service/contracts';
import type { BufferedBytes } from '@agent-service/http/replies/buffered-bytes';
import { openReplyChannel, type RedisConnections } from '@agent-service/queues';
import type { Logger, ProcessContext } from '@agent-service/runtime';
import { createBatcher } from '@agent-service/work';
import { type Answers, createAnswers } from './answers.ts';
import { createMessageSender } from './send-messages.ts';
import { type AnswerKey, type AnswerState, WaiterRegistry } from './waiters.ts';

const tickMs = 200;

interface OpenAnswersDeps {
  readonly agents: Client<'agents'>;
  readonly redis: RedisConnections;
  readonly bufferedBytes: BufferedBytes;
  readonly waitMs: number;
  /** How long waits go on while the process stops. */
  readonly drainMs: number;
}

interface OpenAnswers {
  readonly answers: Answers;
  /** Gives waiting requests some time to get their answers; then tells them where to read them. */
  stop(): Promise<void>;
}

/** Opens this process's reply channel and the registry of the requests that wait for its replies. */
export async function openAnswers(
  process: ProcessContext,
  { agents, redis, bufferedBytes, waitMs, drainMs }: OpenAnswersDeps,
): Promise<OpenAnswers> {
  // Monotonic: a step of the followed clock would end all waits at once, or delay their ends and the reading of answers.
  const now = () => performance.now();
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
      send: createMessageSender(agents, process.logger),
      read,
      readRecord: createRecordReader(agents, process.logger),
      waits,
      bufferedBytes,
      replyChannel: channel.address,
      waitMs,
      now,
      timeOfDay: process.clock.now,
    }),
    stop: () => waits.drain(drainMs),
  };
}

interface ReaderOptions<Result> {
  readonly maxItems: number;
  readonly limitMs: number;
  /** The event of the log for a batch that failed. */
  readonly event: string;
  readonly read: (keys: AnswerKey[]) => Promise<Result[]>;
}

const concurrency = 4;

/**
 * Reads a part of answers in batches of one tenant; a batch that is too large for one message is split. Requests that wait for the same answer
 * share one read: thousands may wait for the same megabyte.
 */
function createReader<Result>(
  logger: Logger,
  { maxItems, limitMs, event, read }: ReaderOptions<Result>,
): (key: AnswerKey) => Promise<Result> {
  const batcher = createBatcher<AnswerKey, Result>({
    maxItems,
    concurrency,
    classify: classifyCallFailure,
    tenants: { of: (key) => key, lanes: 'each' },
    onFailure: (keys, cause) => logger.warn({ event, answers: keys.length, err: cause }),
    run: (keys) => callDetached(limitMs, () => read(keys)),
  });
  const underWay = new Map<string, Promise<Result>>();
  return (key) => {
    const id = [key.organizationId, key.environment, key.answerId].join(' ');
    const reading = underWay.get(id) ?? batcher.add(key).finally(() => underWay.delete(id));
    underWay.set(id, reading);
    return reading;
  };
}

const createStateReader = (agents: Client<'agents'>, logger: Logger): ((key: AnswerKey) => Promise<AnswerState>) =>
  createReader(logger, {
    maxItems: 500,
    limitMs: 5_000,
    event: 'read_answers_failed',
    read: async (items) => (await agents.readAnswers({ items })).results,
  });

/** Reads the records of answers. After a failure only the last event of a stream lacks these fields. */
function createRecordReader(agents: Client<'agents'>, logger: Logger): (key: AnswerKey) => Promise<AnswerRecord | null> {
  const read = createReader(logger, {
    maxItems: 50,
    limitMs: 2_000,
    event: 'read_records_failed',
    read: async (items) => (await agents.readRecords({ items })).results.map(({ record }) => record),
  });
  return (key) => read(key).catch(() => null);
}
