import type { ProcessContext } from '@agent-service/runtime';
import type { Sql } from '@agent-service/store';
import { createSlowTenants, HealthyFor } from '@agent-service/work';
import type { AgentsBase } from '../base.ts';
import { Acceptance, type StartOutcome } from './accept.ts';
import { createBackground } from './background.ts';
import { type BeginOutcome, createBegin } from './begin.ts';
import { createComplete, type EndRefusal, type FailedAttempt, failAttempts } from './complete.ts';
import { type AnswersDeps, createAnswerMetrics } from './deps.ts';
import { createDispatcher } from './dispatch.ts';
import { type Cancellation, EndAnswers } from './end.ts';
import { createAnswerJobs } from './jobs.ts';
import type { AnswerKey, TenantKey } from './keys.ts';
import { createLeases, type Leases } from './leases.ts';
import { readWhole } from './read.ts';
import { createReleases, createSettlements } from './settle.ts';
import type { Message } from './store/accept.ts';
import type { Claim } from './store/begin.ts';
import type { Result } from './store/complete.ts';
import type { AnswerReading, ReadRow } from './store/read.ts';
import { type SweepDeps, startAnswerSweeps } from './sweeps.ts';

/** The life of answers, from acceptance until they are settled or released. */
export interface Answers {
  accept(message: Message): Promise<StartOutcome>;
  begin(claim: Claim): Promise<BeginOutcome>;
  readonly leases: Leases;
  complete(result: Result): Promise<EndRefusal>;
  fail(attempts: readonly FailedAttempt[]): Promise<EndRefusal[]>;
  /** Cancels an answer of this user with this agent that has no result yet, within the transaction. */
  cancel(transaction: { readonly sql: Sql }, key: AnswerKey, owner: { agentId: string; userId: string }): Promise<Cancellation | undefined>;
  read(keys: readonly AnswerReading[]): Promise<ReadRow[]>;
  /**
   * Fails the pending answers of an agent within the transaction that deletes it, after the agent's row is locked. The function that
   * it returns has to be called after the commit.
   */
  failAnswersOfAgent(transaction: { readonly sql: Sql }, tenant: TenantKey, agentId: string): Promise<() => void>;
}

/** Batches of slow tenants that a process runs at once: as many of its database connections as they may keep busy. */
const permitsOfSlowTenants = 3;

export async function createAnswers(process: ProcessContext, base: AgentsBase): Promise<Answers> {
  const { answers, deps } = composeAnswers(process, base);
  await startAnswerSweeps(deps);
  return answers;
}

/** Composes the module without its sweeps. */
export function composeAnswers(process: ProcessContext, base: AgentsBase): { answers: Answers; deps: SweepDeps } {
  const background = createBackground(process);
  const deps: AnswersDeps = {
    ...base,
    process,
    background,
    metrics: createAnswerMetrics(process),
    jobs: createAnswerJobs(base, background),
    slowTenants: createSlowTenants({ permits: permitsOfSlowTenants }),
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
    complete: (result) => completions.add(result),
    fail: (attempts) => failAttempts(deps, endAnswers, attempts),
    cancel: ({ sql }, key, owner) => endAnswers.cancel(sql, key, owner),
    read: (keys) => readWhole(base.store.sql, keys),
    failAnswersOfAgent: ({ sql }, { organizationId, environment }, agentId) =>
      endAnswers.failAnswersOfAgent(sql, { organizationId, environment }, agentId),
  };
  return { answers, deps: { ...deps, dispatcher, endAnswers, settlements, releases, healthyFor: new HealthyFor() } };
}
