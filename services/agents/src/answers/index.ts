import type { ProcessContext } from '@agent-service/runtime';
import { createSlowTenants, HealthyFor } from '@agent-service/work';
import { Acceptance } from './accept.ts';
import { createBegin, createLeases } from './attempts.ts';
import { type AnswersDeps, type AnswersServiceDeps, createAnswerJobs, createAnswerMetrics, createBackground } from './deps.ts';
import { createDispatcher, EndAnswers } from './end.ts';
import type { Answers } from './rpc.ts';
import { createComplete, createReleases, createSettlements, failAttempts } from './settle.ts';
import { acceptStatements } from './store/accept.ts';
import { beginStatements, leaseStatements } from './store/attempts.ts';
import { dispatchStatements, dueStatements } from './store/dispatch.ts';
import { completeStatements, endStatements } from './store/end.ts';
import { readStatements, readWhole } from './store/read.ts';
import { type SweepDeps, startAnswerSweeps } from './sweeps.ts';
import { createWaitingWorkers } from './waiting-workers.ts';

export type { AnswersServiceDeps } from './deps.ts';
export { type Answers, answerMethods } from './rpc.ts';
export { AnswerEntity, AnswerKeyEntity, AnswerLineEntity } from './store/entities.ts';

/** Batches of slow tenants that a process runs at once: as many of its database connections as they may keep busy. */
const permitsOfSlowTenants = 3;

export async function createAnswers(process: ProcessContext, serviceDeps: AnswersServiceDeps): Promise<Answers> {
  const { answers, deps } = composeAnswers(process, serviceDeps);
  await startAnswerSweeps(deps);
  return answers;
}

/** Composes the module without its sweeps. */
export function composeAnswers(process: ProcessContext, serviceDeps: AnswersServiceDeps): { answers: Answers; deps: SweepDeps } {
  const background = createBackground(process);
  const waitingWorkers = createWaitingWorkers(process, {
    takeBack: (attempts) => background.run('taking attempts back', () => answers.leases.return(attempts)),
  });
  const deps: AnswersDeps = {
    ...serviceDeps,
    process,
    background,
    metrics: createAnswerMetrics(process),
    jobs: createAnswerJobs(serviceDeps, background),
    slowTenants: createSlowTenants({ permits: permitsOfSlowTenants }),
    waitingWorkers,
  };
  const dispatcher = createDispatcher(deps);
  const releases = createReleases(deps);
  const endAnswers = new EndAnswers(deps, dispatcher, (keys) => releases.queue.add(keys));
  const settlements = createSettlements(deps, dispatcher, endAnswers);
  const acceptance = new Acceptance(deps, releases);
  const begins = createBegin(deps, endAnswers);
  const completions = createComplete(deps, settlements);
  const answers: Answers = {
    accept: (message) => acceptance.accept(message),
    begin: (claim) => begins.add(claim),
    leases: createLeases(deps, endAnswers),
    wait: (offer, signal) => waitingWorkers.wait(offer, signal),
    complete: (result) => completions.add(result),
    fail: (attempts) => failAttempts(deps, endAnswers, attempts),
    cancel: ({ sql }, key, owner) => endAnswers.cancel(sql, key, owner),
    read: (keys) => readWhole(serviceDeps.store.sql, keys),
    failAnswersOfAgent: ({ sql }, { organizationId, environment }, agentId) =>
      endAnswers.failAnswersOfAgent(sql, { organizationId, environment }, agentId),
  };
  return { answers, deps: { ...deps, dispatcher, endAnswers, settlements, releases, healthyFor: new HealthyFor() } };
}

export const answerStatements = {
  ...acceptStatements,
  ...dispatchStatements,
  ...beginStatements,
  ...leaseStatements,
  ...completeStatements,
  ...endStatements,
  ...dueStatements,
  ...readStatements,
};
