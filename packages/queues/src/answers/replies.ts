// The contract of answer streams. A worker writes the replies of an attempt (reply-writer.ts), `agents` publishes the end of the answer, and a
// gateway selects what its caller gets (reply-filter.ts). Any reply may be lost; the whole message follows at the end, or is read from `agents`.
import type { AnswerMessage } from '@agent-service/contracts';
import type { ProcessContext } from '@agent-service/runtime';
import { openChannel } from '../channels/channel.ts';
import { createPublisher } from '../channels/publisher.ts';
import type { RedisConnections } from '../redis/open-redis.ts';

/** A tool call of an answer, as readers see it. */
export interface ToolStep {
  name: string;
  /** The request in a sentence, or the SQL statement. */
  detail: string;
  rows: number;
  durationMs: number;
  /** Empty after a success. */
  error: string;
}

/** Identifies one text of one attempt. */
interface RunId {
  id: string;
  attempt: number;
  /** How often the attempt has restarted its text; absent for 0. Without it, a lost `started` would join two texts. */
  restarts?: number;
}

/** Messages of a gateway's reply channel. Lost replies are read back from `agents`. */
export type Reply =
  /** Voids the text that was sent before it. */
  | ({ kind: 'started' } & RunId)
  | ({ kind: 'delta'; text: string } & RunId)
  | ({ kind: 'tool'; step: ToolStep } & RunId)
  /** The answer has ended; if it completed, it is settled. */
  | { kind: 'ended'; id: string; message: AnswerMessage };

/** Messages of a worker's channel. */
export type WorkerNotice = { kind: 'unwanted'; id: string; attempt: number };

/** Opens the channel on which a gateway receives replies. */
export const openReplyChannel = (process: ProcessContext, redis: RedisConnections, onReplies: (replies: Reply[]) => void) =>
  openChannel<Reply>(process, redis, 'replies', onReplies);

export const createReplyPublisher = (process: ProcessContext, redis: RedisConnections) => createPublisher<Reply>(process, redis);

/** Opens the channel on which a worker receives notices about its running answers. */
export const openWorkerChannel = (process: ProcessContext, redis: RedisConnections, onNotices: (notices: WorkerNotice[]) => void) =>
  openChannel<WorkerNotice>(process, redis, 'worker', onNotices);

export const createNoticePublisher = (process: ProcessContext, redis: RedisConnections) => createPublisher<WorkerNotice>(process, redis);
