import type { ProcessContext } from '@agent-service/runtime';
import type { SlowTenants } from '@agent-service/work';
import type { AgentsBase } from '../base.ts';
import type { Announcer } from './announcer.ts';
import type { Background } from './background.ts';
import type { AnswerJobs } from './jobs.ts';
import type { AnswerMetrics } from './metrics.ts';

/** What the parts of an answer's life have in common. */
export interface Parts extends Pick<AgentsBase, 'store' | 'credits' | 'limits' | 'events' | 'eventRelay' | 'now'> {
  readonly process: ProcessContext;
  readonly background: Background;
  readonly metrics: AnswerMetrics;
  readonly jobs: AnswerJobs;
  readonly announcer: Announcer;
  /** Those whose locks, statements or ledgers timed out lately. */
  readonly slowTenants: SlowTenants;
}
