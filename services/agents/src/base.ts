import type { Client } from '@agent-service/contracts';
import type { AnswerJob, Producer, RedisConnections, Reply, WorkerNotice } from '@agent-service/queues';
import type { Logger } from '@agent-service/runtime';
import type { Cursors, Relay, Store } from '@agent-service/store';
import type { Sources } from './data-sources/sources.ts';

/** How many answers a tenant may have, and for how long. */
export interface AnswerLimits {
  readonly inFlight: number;
  readonly waiting: number;
  readonly deadlineMs: number;
}

interface Publisher<Message> {
  publish(channel: string, message: Message): void;
}

/** What the parts of this service are made from. */
export interface AgentsBase {
  readonly store: Store;
  readonly sources: Sources;
  readonly logger: Logger;
  readonly cursors: Cursors;
  readonly redis: RedisConnections;
  readonly jobs: Producer<AnswerJob>;
  /** Of answers that have lost a lease. */
  readonly apartJobs: Producer<AnswerJob>;
  readonly replies: Publisher<Reply>;
  readonly notices: Publisher<WorkerNotice>;
  readonly credits: Client<'credits'>;
  readonly auditRelay: Relay;
  /** Undefined where webhooks are off. */
  readonly eventRelay: Relay | undefined;
  readonly limits: AnswerLimits;
  /** Whether events are recorded for webhooks. */
  readonly events: boolean;
  readonly now: () => number;
}
