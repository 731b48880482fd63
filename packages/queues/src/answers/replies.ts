// The contract of answer streams. A worker writes the replies of an attempt (reply-writer.ts), `agents` publishes the end of the answer, and a
// gateway selects what its caller gets (reply-filter.ts). Any reply may be lost; the whole message follows at the end, or is read from `agents`.
import type { AnswerMessage } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { z } from 'zod';
import { openChannel } from '../channels/channel.ts';
import { createPublisher } from '../channels/publisher.ts';
import type { RedisConnections } from '../redis/open-redis.ts';

const text = z.string();

/** A tool call of an answer, as readers see it. */
const step = z.object({
  name: text,
  /** The request in a sentence, or the SQL statement. */
  detail: text,
  rows: z.number(),
  durationMs: z.number(),
  /** Empty after a success. */
  error: text,
});

export type ToolStep = z.output<typeof step>;

/** Identifies one text of one attempt. */
const runId = {
  id: text,
  attempt: z.int().min(1),
  /** How often the attempt has restarted its text; absent for 0. Without it, a lost `started` would join two texts. */
  restarts: z.int().exactOptional(),
};

/** A message of agents as its listeners get it, without the record. */
const endedMessage: z.ZodType<AnswerMessage> = z.object({
  id: text,
  conversationId: text,
  agentId: text,
  role: text,
  content: text,
  contentType: text,
  creditsConsumed: z.number(),
  modelUsed: text,
  createdAt: text,
  status: z.enum(['completed', 'failed', 'cancelled']),
  failure: z.object({ code: text, message: text }).nullable(),
  queries: z.array(z.object({ statement: text, tables: z.array(text), rows: z.number(), durationMs: z.number() })),
  record: z.null(),
});

/** Messages of a gateway's reply channel. Lost replies are read back from `agents`. */
const reply = z.discriminatedUnion('kind', [
  /** Voids the text that was sent before it. */
  z.object({ kind: z.literal('started'), ...runId }),
  z.object({ kind: z.literal('delta'), text, ...runId }),
  z.object({ kind: z.literal('tool'), step, ...runId }),
  /** The answer has ended; if it completed, it is settled. */
  z.object({ kind: z.literal('ended'), id: text, message: endedMessage }).refine(({ id, message }) => id === message.id),
]);

export type Reply = z.output<typeof reply>;

/** Messages of a worker's channel. */
const workerNotice = z.object({ kind: z.literal('unwanted'), id: text, attempt: z.int().min(1) });

export type WorkerNotice = z.output<typeof workerNotice>;

/** Opens the channel on which a gateway receives replies. */
export const openReplyChannel = (process: ProcessContext, redis: RedisConnections, onReplies: (replies: Reply[]) => void) =>
  openChannel(process, redis, { prefix: 'replies', message: reply }, onReplies);

export const createReplyPublisher = (process: ProcessContext, redis: RedisConnections) => createPublisher<Reply>(process, redis);

/** Opens the channel on which a worker receives notices about its running answers. */
export const openWorkerChannel = (process: ProcessContext, redis: RedisConnections, onNotices: (notices: WorkerNotice[]) => void) =>
  openChannel(process, redis, { prefix: 'worker', message: workerNotice }, onNotices);

export const createNoticePublisher = (process: ProcessContext, redis: RedisConnections) => createPublisher<WorkerNotice>(process, redis);
