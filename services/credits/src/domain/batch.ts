import {
  areSettings,
  isAmount,
  type Ledger,
  lowBalanceThreshold,
  MAX_GRANT,
  MAX_ISSUED,
  organizationBalance,
  room,
  totalBalance,
  type UserBalance,
  userBalance,
} from './accounts.ts';
import { hold, release, settle } from './holds.ts';
import {
  type AllocateOperation,
  type GrantOperation,
  type Operation,
  operationFingerprint,
  type ReadOperation,
  type RememberedOperation,
  type Result,
  refuse,
  refuseShort,
  type SettingsOperation,
  type TurnOperation,
} from './operations.ts';
import type { CreditEvent, LedgerState, Outcome } from './state.ts';
import { replenish, turn, Workspace } from './workspace.ts';

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
  if (!isValid(operation)) return refuse('invalid_request');
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

/** The last guard before the ledger: whatever a caller let through, nothing but bounded integers moves credits. */
export function isValid(operation: Operation): boolean {
  switch (operation.kind) {
    case 'hold':
      return operation.id !== '' && operation.userId !== '' && isAmount(operation.amount) && Number.isSafeInteger(operation.deadline);
    case 'settle':
      return operation.id !== '' && isAmount(operation.amount);
    case 'release':
      return operation.id !== '';
    case 'grant':
      return operation.id !== '' && isAmount(operation.amount, 1, MAX_GRANT);
    case 'allocate':
      return operation.id !== '' && operation.userId !== '' && isAmount(operation.monthlyLimit);
    case 'settings':
      return operation.id !== '' && areSettings(operation.changes);
    case 'turn':
    case 'read':
      return operation.userId !== '';
  }
}

/** Brings purchased credits into the pool. */
export function grant(work: Workspace, operation: GrantOperation): Result {
  const { id, amount } = operation;
  if (amount > MAX_ISSUED - work.ledger.issued) return refuse('issue_limit_reached');
  const key = `grant:${id}`;
  work.transfer(key, 'purchase', amount, null);
  work.ledger.lastPurchase = amount;
  work.announceCredits(key, amount, 'purchase');
  return { ok: true, kind: 'grant', amount };
}

/**
 * Sets a user's limit and moves the difference between pool and account. Only a raise can be refused: a lower limit binds at
 * once, also on what was carried, whatever the pool holds.
 */
export function allocate(work: Workspace, operation: AllocateOperation): Result {
  const { id, userId, monthlyLimit, rollover } = operation;
  const user = work.user(userId) ?? work.draftUser(userId, 0);
  turn(work, user);
  const carried = Math.min(user.carried, monthlyLimit);
  const target = Math.max(0, monthlyLimit + carried - user.used - user.held);
  const missing = target - user.balance;
  const pool = work.ledger.pool;
  if (target > room(user) && missing > pool) return refuseShort('insufficient_unallocated_credits', missing, pool);

  Object.assign(user, { monthlyLimit, carried, rollover, effectiveFrom: work.now });
  const key = `allocate:${id}`;
  if (missing < 0) work.transfer(key, 'return', -missing, user);
  else work.transfer(key, 'fill', Math.min(missing, pool), user);
  work.saveUser(user);
  return {
    ok: true,
    kind: 'allocate',
    allocation: { userId, monthlyLimit, rolloverEnabled: rollover, effectiveFrom: work.now, updatedAt: work.now },
  };
}

/** Changes what is named and leaves the rest. Replenishment that this switches on or raises happens at once. */
export function settings(work: Workspace, operation: SettingsOperation): Result {
  work.changeSettings(operation.changes);
  replenish(work, `settings:${operation.id}`);
  return { ok: true, kind: 'settings', organization: organizationBalance(work.ledger) };
}

export function turnAccount(work: Workspace, operation: TurnOperation): Result {
  const user = work.user(operation.userId);
  return { ok: true, kind: 'turn', turned: user !== undefined && turn(work, user) };
}

/** A user who never used a credit has none yet, and the limit that the first use will bring. Reading allocates nothing. */
export function read(work: Workspace, operation: ReadOperation): Result {
  const user = work.user(operation.userId);
  if (user === undefined) return { ok: true, kind: 'read', user: unused(work, operation.userId) };
  turn(work, user);
  return { ok: true, kind: 'read', user: userBalance(user) };
}

function unused(work: Workspace, userId: string): UserBalance {
  const { settings, updatedAt } = work.ledger;
  return userBalance({ ...work.draftUser(userId, settings.defaultMonthlyLimit), updatedAt });
}

/** What of the ledger an event depends on, read before an operation and compared after it. */
export interface Standing {
  balance: number;
  threshold: number;
}

export function standing(ledger: Ledger): Standing {
  return { balance: totalBalance(ledger), threshold: lowBalanceThreshold(ledger) };
}

/**
 * The warnings between two standings. Comparing both sides makes each a crossing: it is raised once and armed again
 * by the balance itself, with no flag to keep.
 */
export function crossings(key: string, before: Standing, after: Standing, at: number): CreditEvent[] {
  const { balance, threshold } = after;
  const events: CreditEvent[] = [];
  if (before.balance >= before.threshold && balance < threshold) {
    events.push({ id: `${key}:credits.low_balance`, at, balance, type: 'credits.low_balance', threshold });
  }
  if (before.balance > 0 && balance === 0) events.push({ id: `${key}:credits.depleted`, at, balance, type: 'credits.depleted' });
  return events;
}
