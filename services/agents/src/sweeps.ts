import type { ProcessContext } from '@agent-service/runtime';
import { startSweep, sweepIdempotency } from '@agent-service/store';
import { removeDeletedAgents } from './agents/store/deleted-agents.ts';
import type { AgentsContext } from './context.ts';
import { tellOrphaned } from './data-sources/store/lost-steps.ts';
import { removeOldSteps } from './data-sources/store/steps.ts';

const everyMinute = 60_000;
const everySecond = 1_000;

/** What is done without being asked for, beside the answers' own. Every replica does it; a step that another has done finds nothing. */
export function startSweeps(process: ProcessContext, { store, now }: Pick<AgentsContext, 'store' | 'now'>): void {
  startSweep(process, 'deleted agents', everySecond, () => removeDeletedAgents(store));
  startSweep(process, 'lost steps', everySecond, () => tellOrphaned(store.sql, now()));
  startSweep(process, 'old steps', everyMinute, () => removeOldSteps(store.sql, now()));
  startSweep(process, 'idempotency', everyMinute, () => sweepIdempotency(store.sql));
}
