import { changedValues, isEmpty } from '@agent-service/contracts/changes';
import {
  type Ledger,
  maxIssued,
  maxReplenishmentsPerBatch,
  newUser,
  room,
  type Settings,
  totalBalance,
  type UserAccount,
} from './accounts.ts';
import { type Month, monthLabel, monthOf } from './calendar.ts';
import type { Operation, Refusal, RefusalCode, Result, Shortage } from './operations.ts';
import type {
  CreditEvent,
  CreditSource,
  Hold,
  LedgerAccount,
  LedgerState,
  Outcome,
  Remembered,
  Transfer,
  TransferCode,
  UsageRecord,
} from './state.ts';

export interface Route {
  readonly from: LedgerAccount;
  readonly to: LedgerAccount;
}

/** Every kind of transfer, with the accounts that it moves credits from and to. A transfer touches at most one user. */
export const routes: { readonly [C in TransferCode]: Route } = {
  purchase: { from: 'outside', to: 'pool' },
  replenish: { from: 'outside', to: 'pool' },
  fill: { from: 'pool', to: 'user' },
  return: { from: 'user', to: 'pool' },
  hold: { from: 'user', to: 'holds' },
  release: { from: 'holds', to: 'user' },
  charge: { from: 'holds', to: 'spent' },
};

/**
 * The working copy of one batch. A row is copied when an operation first needs it and then changed in place, so that the cost depends on
 * the operations and not on the size of the state. The loaded state stays unchanged.
 */
export class Workspace {
  readonly ledger: Ledger;
  readonly now: number;
  readonly month: Month;
  readonly usage: UsageRecord[] = [];
  readonly events: CreditEvent[] = [];
  replenishmentsLeft = maxReplenishmentsPerBatch;
  readonly #state: LedgerState;
  readonly #users = new Map<string, UserAccount>();
  readonly #changedUsers = new Set<UserAccount>();
  readonly #holds = new Map<string, Hold>();
  readonly #remembered = new Map<string, Remembered>();
  readonly #transfers: Transfer[] = [];
  #changed = false;

  constructor(state: LedgerState, now: number) {
    this.#state = state;
    this.ledger = { ...state.ledger };
    // The clocks of processes differ a little. The time of a tenant never runs backwards, so that no month starts twice.
    this.now = Math.max(now, state.ledger.updatedAt);
    this.month = monthOf(this.now);
  }

  user(userId: string): UserAccount | undefined {
    const copied = this.#users.get(userId);
    if (copied !== undefined) return copied;
    const loaded = this.#state.users.get(userId);
    if (loaded === undefined) return undefined;
    const copy = { ...loaded };
    this.#users.set(userId, copy);
    return copy;
  }

  /** The account of a hold's user, which a complete state always has. */
  holder(hold: Hold): UserAccount {
    const user = this.user(hold.userId);
    if (user === undefined) throw new Error(`the account of user ${hold.userId} is missing for hold ${hold.id}`);
    return user;
  }

  /** A new account, which is part of the outcome only after `saveUser`. */
  draftUser(userId: string, monthlyLimit: number): UserAccount {
    return newUser(userId, monthlyLimit, this.now);
  }

  saveUser(user: UserAccount): void {
    user.updatedAt = this.now;
    this.#touch();
    this.#users.set(user.userId, user);
    this.#changedUsers.add(user);
  }

  /** A hold, for reading only: `saveHold` replaces it. */
  hold(id: string): Readonly<Hold> | undefined {
    return this.#holds.get(id) ?? this.#state.holds.get(id);
  }

  saveHold(hold: Hold): void {
    this.#holds.set(hold.id, hold);
  }

  remembered(id: string): Readonly<Remembered> | undefined {
    return this.#remembered.get(id) ?? this.#state.remembered.get(id);
  }

  remember(record: Remembered): void {
    this.#remembered.set(record.id, record);
  }

  /** Returns the settings that differ. */
  changeSettings(values: Partial<Settings>): Partial<Settings> {
    const changes = changedValues(this.ledger.settings, values);
    if (isEmpty(changes)) return changes;
    this.ledger.settings = { ...this.ledger.settings, ...changes };
    this.#touch();
    return changes;
  }

  /** Moves credits; nothing else does. `key` names the operation. An amount of zero adds no transfer. */
  transfer(key: string, code: TransferCode, amount: number, user: UserAccount | null): void {
    if (amount === 0) return;
    const { from, to } = routes[code];
    const id = `${key}:${code}`;
    if (amount < 0 || this.#add(from, -amount, user) < 0) throw new Error(`transfer ${id} of ${amount} would leave ${from} below zero`);
    this.#add(to, amount, user);
    this.#touch();
    this.#transfers.push({ id, code, from, to, userId: user === null ? null : user.userId, amount, at: this.now });
  }

  /** Called with each change and not at the end of the batch, so that results do not depend on how operations are batched. */
  #touch(): void {
    this.#changed = true;
    this.ledger.updatedAt = this.now;
  }

  /** Changes one account and returns its new balance. The outside account may go below zero, so it returns 0. */
  #add(account: LedgerAccount, amount: number, user: UserAccount | null): number {
    const { ledger } = this;
    switch (account) {
      case 'pool':
        ledger.pool += amount;
        return ledger.pool;
      case 'spent':
        ledger.spent += amount;
        return ledger.spent;
      case 'outside':
        ledger.issued -= amount;
        return 0;
      case 'user':
      case 'holds':
        return this.#addToUser(account, amount, user);
    }
  }

  #addToUser(account: 'user' | 'holds', amount: number, user: UserAccount | null): number {
    if (user === null) throw new Error(`a transfer to or from ${account} names no user`);
    this.ledger.allocated += amount;
    const figure = account === 'user' ? 'balance' : 'onHold';
    user[figure] += amount;
    return user[figure];
  }

  /** Adds the event that tells of new credits. */
  announceCredits(key: string, amount: number, source: CreditSource): void {
    const balance = totalBalance(this.ledger);
    this.events.push({ id: `${key}:credits.replenished:${source}`, at: this.now, balance, type: 'credits.replenished', amount, source });
  }

  outcome(results: Result[]): Outcome {
    return {
      results,
      ledger: this.#changed ? this.ledger : null,
      users: [...this.#changedUsers],
      holds: [...this.#holds.values()],
      remembered: [...this.#remembered.values()],
      transfers: this.#transfers,
      usage: this.usage,
      events: this.events,
    };
  }
}

/**
 * Starts the current month in an account: the unused balance goes back to the pool, then the account is filled from the pool up to its
 * limit and carry-over. Returns false if the month was started before.
 */
export function startMonth(work: Workspace, user: UserAccount): boolean {
  const monthsSince = work.month - user.month;
  if (monthsSince <= 0) return false;
  const key = `turn:${user.userId}:${monthLabel(work.month)}`;
  const unused = user.balance;
  work.transfer(key, 'return', unused, user);
  user.carried = carryOver(user, unused);
  user.used = 0;
  if (monthsSince > 1) user.carried = carryOver(user, Math.min(work.ledger.pool, room(user)));
  user.month = work.month;
  work.transfer(key, 'fill', Math.min(work.ledger.pool, room(user)), user);
  work.saveUser(user);
  return true;
}

/**
 * The unused credits that are added to the next month. Those on hold are unused, as a charge counts in the month of its Settle, unless the
 * limit was lowered below what is used and on hold. If months went by without an operation, the account would have been full and unused in
 * each, and each would have carried over the same; so one computation stands for all of them.
 */
function carryOver(user: UserAccount, unusedBalance: number): number {
  const { monthlyLimit, carried, used, onHold, rollover } = user;
  return rollover ? Math.max(0, Math.min(monthlyLimit, unusedBalance + onHold, monthlyLimit + carried - used)) : 0;
}

/**
 * Adds the replenish amount, as one transfer, as often as it takes to reach the threshold. A batch has a limit of replenishments; a tenant
 * that is still below the threshold is replenished again by the next batch.
 */
export function replenish(work: Workspace, key: string): void {
  const { autoReplenish, replenishThreshold, replenishAmount } = work.ledger.settings;
  const missing = replenishThreshold - totalBalance(work.ledger);
  if (!autoReplenish || missing <= 0) return;
  const affordable = Math.floor((maxIssued - work.ledger.issued) / replenishAmount);
  const times = Math.min(Math.ceil(missing / replenishAmount), work.replenishmentsLeft, affordable);
  if (times === 0) return;
  const amount = times * replenishAmount;
  work.replenishmentsLeft -= times;
  work.transfer(key, 'replenish', amount, null);
  work.announceCredits(key, amount, 'auto_replenish');
}

interface Touched {
  /** Users that the operations name. The state also needs the users of the holds. */
  users: Set<string>;
  holds: Set<string>;
  remembered: Set<string>;
}

/** The ids of the rows that a batch needs. */
export function touchedBy(operations: readonly Operation[]): Touched {
  const touched: Touched = { users: new Set(), holds: new Set(), remembered: new Set() };
  for (const operation of operations) {
    if ('userId' in operation) touched.users.add(operation.userId);
    if (operation.kind === 'hold' || operation.kind === 'settle' || operation.kind === 'release') touched.holds.add(operation.id);
    else if ('id' in operation) touched.remembered.add(operation.id);
  }
  return touched;
}

export function refuse(code: RefusalCode): Refusal {
  return { ok: false, code, shortage: null };
}

export function refuseShort(code: RefusalCode, shortage: Shortage): Refusal {
  return { ok: false, code, shortage };
}

/**
 * A hash of 53 bits, which a number and a bigint column hold exactly. It only has to find callers' mistakes, not attacks. A 32-bit hash
 * would miss one mistake in four billion.
 */
export function fingerprint(text: string): number {
  let low = 0x811c9dc5;
  let high = 0x9747b28c;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x5bd1e995) ^ (high >>> 15);
  }
  low ^= low >>> 16;
  high ^= high >>> 13;
  return (high & 0x1fffff) * 0x1_0000_0000 + (low >>> 0);
}
