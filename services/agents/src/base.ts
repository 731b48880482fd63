import type { Client } from '@agent-service/contracts';
import type { AnswerJob, Producer, RedisConnections, Reply, WorkerNotice } from '@agent-service/queues';
import type { ServiceDeps } from './shared/deps.ts';

/** How many answers a tenant may have, and for how long. */
export interface AnswerLimits {
  readonly inFlight: number;
  readonly waiting: number;
  readonly deadlineMs: number;
}

interface Publisher<Message> {
  publish(channel: string, message: Message): void;
}

/** Dependencies of answers. */
export interface AgentsBase extends ServiceDeps {
  readonly redis: RedisConnections;
  readonly jobs: Producer<AnswerJob>;
  /** Of answers that have lost a lease. */
  readonly apartJobs: Producer<AnswerJob>;
  readonly replies: Publisher<Reply>;
  readonly notices: Publisher<WorkerNotice>;
  readonly credits: Client<'credits'>;
  readonly limits: AnswerLimits;
}
