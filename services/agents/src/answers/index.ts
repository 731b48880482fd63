import type { ProcessContext } from '@agent-service/runtime';
import { HealthTracker } from '@agent-service/work';
import { Acceptance } from './accept.ts';
import { createBeginBatcher, createLeases } from './attempts.ts';
import { type AnswersServiceDeps, createAnswersDeps } from './deps.ts';
import { createDispatcher, WaitingWorkers } from './dispatch.ts';
import { createReleases, EndAnswers } from './end.ts';
import type { Answers } from './rpc.ts';
import { createCompleteBatcher, createSettlements, failAttempts } from './settle.ts';
import { acceptStatements } from './store/accept.ts';
import { beginStatements, leaseStatements } from './store/attempts.ts';
import { dispatchStatements, dueStatements } from './store/dispatch.ts';
import { completeStatements, endStatements } from './store/end.ts';
import { readStatements, readWhole, selectRecords } from './store/read.ts';
import { historyStatements } from './store/sql.ts';
import { type SweepDeps, startAnswerSweeps } from './sweeps.ts';

export type { AnswersServiceDeps } from './deps.ts';
export { type Answers, answerMethods } from './rpc.ts';
export { AnswerEntity, AnswerKeyEntity, AnswerLineEntity } from './store/entities.ts';

export async function createAnswers(process: ProcessContext, serviceDeps: AnswersServiceDeps): Promise<Answers> {
  const { answers, deps } = composeAnswers(process, serviceDeps);
  await startAnswerSweeps(deps);
  return answers;
}

/** Composes the module without its sweeps. */
export function composeAnswers(process: ProcessContext, serviceDeps: AnswersServiceDeps): { answers: Answers; deps: SweepDeps } {
  const deps = createAnswersDeps(process, serviceDeps);
  const waitingWorkers = new WaitingWorkers(process, {
    takeBack: (attempts) => deps.background.run('taking attempts back', () => leases.return(attempts)),
  });
  const dispatcher = createDispatcher(deps, waitingWorkers);
  const releases = createReleases(deps);
  const endAnswers = new EndAnswers(deps, dispatcher.dispatchAfterEnds, releases.queue);
  const settlements = createSettlements(deps, dispatcher.dispatchAfterEnds, endAnswers);
  const leases = createLeases(deps, endAnswers);
  const acceptance = new Acceptance(deps, releases, waitingWorkers);
  const begins = createBeginBatcher(deps, endAnswers);
  const completions = createCompleteBatcher(deps, settlements);
  const answers: Answers = {
    accept: (message) => acceptance.accept(message),
    begin: (claim) => begins.add(claim),
    leases,
    wait: (offer, signal) => waitingWorkers.wait(offer, signal),
    complete: (result) => completions.add(result),
    fail: (attempts) => failAttempts(deps, endAnswers, attempts),
    cancel: ({ sql }, key, options) => endAnswers.cancel(sql, key, options),
    read: (keys) => readWhole(serviceDeps.store.sql, keys),
    readRecords: (keys) => selectRecords(serviceDeps.store.sql, keys),
    failAnswersOfAgent: ({ sql }, { organizationId, environment }, agentId) =>
      endAnswers.failAnswersOfAgent(sql, { organizationId, environment }, agentId),
  };
  return { answers, deps: { ...deps, dispatcher, endAnswers, settlements, releases, health: new HealthTracker() } };
}

export const answerStatements = {
  ...acceptStatements,
  ...dispatchStatements,
  ...historyStatements,
  ...beginStatements,
  ...leaseStatements,
  ...completeStatements,
  ...endStatements,
  ...dueStatements,
  ...readStatements,
};
