import { changedValues, isEmpty } from '@agent-service/contracts/changes';
import {
  areSettings,
  isAmount,
  type Ledger,
  lowBalanceThreshold,
  maxGrant,
  maxIssued,
  organizationBalance,
  room,
  totalBalance,
  type UserBalance,
  userBalance,
} from './accounts.ts';
import { hold, release, settle } from './holds.ts';
import type {
  AllocateOperation,
  GrantOperation,
  Operation,
  ReadOperation,
  RememberedOperation,
  Result,
  SettingsOperation,
  StartMonthOperation,
} from './operations.ts';
import type { CreditEvent, LedgerState, Outcome } from './state.ts';
import { fingerprint, refuse, refuseShort, replenish, startMonth, Workspace } from './workspace.ts';

/**
 * Applies operations to one tenant's ledger, in order, with the same results as if each came alone. Does not change `state`. Throws only
 * if the state is inconsistent: then nothing of the batch may be written.
 */
export function applyOperations(state: LedgerState, now: number, operations: readonly Operation[]): Outcome {
  const work = new Workspace(state, now);
  const results: Result[] = [];
  for (const operation of operations) results.push(runOperation(work, operation));
  return work.outcome(results);
}

function runOperation(work: Workspace, operation: Operation): Result {
  if (!isValid(operation)) return refuse('invalid_request');
  const before = snapshotBalance(work.ledger);
  const result = decide(work, operation);
  const after = snapshotBalance(work.ledger);
  if (after.balance !== before.balance || after.threshold !== before.threshold) reactToBalance(work, operation, before);
  return result;
}

/** Replenishes the ledger, then adds the warnings that the resulting balance calls for. */
function reactToBalance(work: Workspace, operation: Operation, before: BalanceSnapshot): void {
  const key = 'id' in operation ? `${operation.kind}:${operation.id}` : operation.kind;
  replenish(work, key);
  work.events.push(...warnings(key, before, snapshotBalance(work.ledger), work.now));
}

function decide(work: Workspace, operation: Operation): Result {
  switch (operation.kind) {
    case 'hold':
      return hold(work, operation);
    case 'settle':
      return settle(work, operation);
    case 'release':
      return release(work, operation);
    case 'start_month':
      return startAccountMonth(work, operation);
    case 'read':
      return readBalance(work, operation);
    case 'grant':
    case 'allocate':
    case 'settings':
      return runOnce(work, operation);
  }
}

/** Runs an operation once for its id. A repeat gets the first result, also if that was a refusal. */
function runOnce(work: Workspace, operation: RememberedOperation): Result {
  const contents = fingerprint(JSON.stringify(contentsOf(operation)));
  const first = work.remembered(operation.id);
  if (first !== undefined) return first.fingerprint === contents ? first.result : refuse('idempotency_conflict');
  const result = runRemembered(work, operation);
  work.remember({ id: operation.id, fingerprint: contents, result, at: work.now });
  return result;
}

/** The contents of an operation, which a repeat must have as well. */
function contentsOf(operation: RememberedOperation): unknown[] {
  switch (operation.kind) {
    case 'grant':
      return ['grant', operation.amount];
    case 'allocate':
      return ['allocate', operation.userId, operation.monthlyLimit, operation.rollover];
    case 'settings': {
      const changes = Object.entries(operation.changes).filter(([, value]) => value !== undefined);
      return ['settings', ...changes.sort(([a], [b]) => (a < b ? -1 : 1))];
    }
  }
}

function runRemembered(work: Workspace, operation: RememberedOperation): Result {
  switch (operation.kind) {
    case 'grant':
      return grant(work, operation);
    case 'allocate':
      return allocate(work, operation);
    case 'settings':
      return changeSettings(work, operation);
  }
}

/** The last check before the ledger: amounts are integers within their bounds. */
function isValid(operation: Operation): boolean {
  switch (operation.kind) {
    case 'hold':
      return operation.id !== '' && operation.userId !== '' && isAmount(operation.amount) && Number.isSafeInteger(operation.deadline);
    case 'settle':
      return operation.id !== '' && isAmount(operation.amount);
    case 'release':
      return operation.id !== '';
    case 'grant':
      return operation.id !== '' && isAmount(operation.amount, 1, maxGrant);
    case 'allocate':
      return operation.id !== '' && operation.userId !== '' && isAmount(operation.monthlyLimit);
    case 'settings':
      return operation.id !== '' && areSettings(operation.changes);
    case 'start_month':
    case 'read':
      return operation.userId !== '';
  }
}

/** Adds purchased credits to the pool. */
function grant(work: Workspace, operation: GrantOperation): Result {
  const { id, amount } = operation;
  if (amount > maxIssued - work.ledger.issued) return refuse('issue_limit_reached');
  const key = `grant:${id}`;
  work.transfer(key, 'purchase', amount, null);
  work.ledger.lastPurchase = amount;
  work.announceCredits(key, amount, 'purchase');
  return { ok: true, kind: 'grant', amount };
}

/**
 * Sets a user's monthly limit and moves the difference between the pool and the account. Only a higher limit can be refused: a lower one
 * takes effect at once, also on the carry-over. The same limit again may still fill the account from the pool.
 */
function allocate(work: Workspace, operation: AllocateOperation): Result {
  const { id, userId, monthlyLimit, rollover } = operation;
  const account = work.user(userId);
  const user = account ?? work.draftUser(userId, 0);
  startMonth(work, user);
  const carried = Math.min(user.carried, monthlyLimit);
  const target = Math.max(0, monthlyLimit + carried - user.used - user.onHold);
  const missing = target - user.balance;
  const pool = work.ledger.pool;
  if (target > room(user) && missing > pool) return refuseShort('insufficient_unallocated_credits', { required: missing, available: pool });

  const limits = { monthlyLimit, rolloverEnabled: rollover };
  const changes = account ? changedValues({ monthlyLimit: account.monthlyLimit, rolloverEnabled: account.rollover }, limits) : limits;
  const isChanged = !isEmpty(changes);
  if (isChanged) Object.assign(user, { monthlyLimit, carried, rollover, effectiveFrom: work.now });
  const key = `allocate:${id}`;
  const moved = Math.min(missing, pool);
  if (moved < 0) work.transfer(key, 'return', -moved, user);
  else work.transfer(key, 'fill', moved, user);
  if (isChanged || moved !== 0) work.saveUser(user);
  const { effectiveFrom, updatedAt } = user;
  return { ok: true, kind: 'allocate', allocation: { userId, ...limits, effectiveFrom, updatedAt }, changes };
}

/** Changes the named settings. If they call for replenishment, it happens at once. */
function changeSettings(work: Workspace, operation: SettingsOperation): Result {
  const changes = work.changeSettings(operation.changes);
  replenish(work, `settings:${operation.id}`);
  return { ok: true, kind: 'settings', organization: organizationBalance(work.ledger), changes };
}

function startAccountMonth(work: Workspace, operation: StartMonthOperation): Result {
  const user = work.user(operation.userId);
  return { ok: true, kind: 'start_month', started: user !== undefined && startMonth(work, user) };
}

/** A user without an account has a balance of 0 and the default limit. Reading does not create the account. */
function readBalance(work: Workspace, operation: ReadOperation): Result {
  const user = work.user(operation.userId);
  if (user === undefined) return { ok: true, kind: 'read', user: balanceWithoutAccount(work, operation.userId) };
  startMonth(work, user);
  return { ok: true, kind: 'read', user: userBalance(user) };
}

function balanceWithoutAccount(work: Workspace, userId: string): UserBalance {
  const { settings, updatedAt } = work.ledger;
  return userBalance({ ...work.draftUser(userId, settings.defaultMonthlyLimit), updatedAt });
}

/** The figures on which warnings depend, before and after an operation. */
interface BalanceSnapshot {
  balance: number;
  threshold: number;
}

function snapshotBalance(ledger: Ledger): BalanceSnapshot {
  return { balance: totalBalance(ledger), threshold: lowBalanceThreshold(ledger) };
}

/** The warnings for a balance that has crossed a threshold. Each is given once; it can be given again after the balance has risen. */
function warnings(key: string, before: BalanceSnapshot, after: BalanceSnapshot, at: number): CreditEvent[] {
  const { balance, threshold } = after;
  const events: CreditEvent[] = [];
  if (before.balance >= before.threshold && balance < threshold) {
    events.push({ id: `${key}:credits.low_balance`, at, balance, type: 'credits.low_balance', threshold });
  }
  if (before.balance > 0 && balance === 0) events.push({ id: `${key}:credits.depleted`, at, balance, type: 'credits.depleted' });
  return events;
}
