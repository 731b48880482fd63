import { crossings, type Standing, standing } from './events.ts';
import { operationFingerprint } from './fingerprint.ts';
import { allocate } from './operations/allocate.ts';
import { grant } from './operations/grant.ts';
import { hold } from './operations/hold.ts';
import { read, turnAccount } from './operations/read.ts';
import { release } from './operations/release.ts';
import { settings } from './operations/settings.ts';
import { settle } from './operations/settle.ts';
import type { Operation, RememberedOperation } from './operations.ts';
import { replenish } from './replenish.ts';
import { type Result, refuse } from './results.ts';
import type { LedgerState, Outcome } from './state.ts';
import { isValid } from './validate.ts';
import { Workspace } from './workspace.ts';

/**
 * Applies a batch of operations to one tenant's ledger, in order, as if each came alone. The state given is left as it
 * was. It throws only where the state is not one that it could have produced: then nothing of the batch may be written.
 */
export function runBatch(state: LedgerState, now: number, operations: readonly Operation[]): Outcome {
  const work = new Workspace(state, now);
  const results: Result[] = [];
  for (const operation of operations) results.push(run(work, operation));
  return work.outcome(results);
}

function run(work: Workspace, operation: Operation): Result {
  if (!isValid(operation)) return refuse('invalid_operation');
  const before = standing(work.ledger);
  const result = decide(work, operation);
  const after = standing(work.ledger);
  if (after.balance !== before.balance || after.threshold !== before.threshold) followUp(work, operation, before);
  return result;
}

/** Events are judged on the balance that an operation leaves behind, replenishment included. */
function followUp(work: Workspace, operation: Operation, before: Standing): void {
  const key = 'id' in operation ? `${operation.kind}:${operation.id}` : operation.kind;
  replenish(work, key);
  work.events.push(...crossings(key, before, standing(work.ledger), work.now));
}

function decide(work: Workspace, operation: Operation): Result {
  switch (operation.kind) {
    case 'hold':
      return hold(work, operation);
    case 'settle':
      return settle(work, operation);
    case 'release':
      return release(work, operation);
    case 'turn':
      return turnAccount(work, operation);
    case 'read':
      return read(work, operation);
    case 'grant':
    case 'allocate':
    case 'settings':
      return once(work, operation);
  }
}

/** Decides an operation the first time its id is seen; a refusal is a decision and stays one. */
function once(work: Workspace, operation: RememberedOperation): Result {
  const fingerprint = operationFingerprint(operation);
  const known = work.remembered(operation.id);
  if (known !== undefined) return known.fingerprint === fingerprint ? known.result : refuse('idempotency_conflict');
  const result = perform(work, operation);
  work.remember({ id: operation.id, fingerprint, result, at: work.now });
  return result;
}

function perform(work: Workspace, operation: RememberedOperation): Result {
  switch (operation.kind) {
    case 'grant':
      return grant(work, operation);
    case 'allocate':
      return allocate(work, operation);
    case 'settings':
      return settings(work, operation);
  }
}
