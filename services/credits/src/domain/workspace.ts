import {
  type Ledger,
  MAX_ISSUED,
  newUser,
  REPLENISHMENTS_A_BATCH,
  room,
  type Settings,
  totalBalance,
  type UserAccount,
  withChanges,
} from './accounts.ts';
import { type Month, monthLabel, monthOf } from './calendar.ts';
import type { Result } from './operations.ts';
import type {
  CreditEvent,
  CreditSource,
  Hold,
  LedgerState,
  Outcome,
  Place,
  Remembered,
  Transfer,
  TransferCode,
  UsageRecord,
} from './state.ts';

export interface Route {
  readonly from: Place;
  readonly to: Place;
}

/** Every movement there is. A transfer touches at most one user, whose balance is `user` and whose open holds are `holds`. */
export const ROUTES: { readonly [C in TransferCode]: Route } = {
  purchase: { from: 'outside', to: 'pool' },
  replenish: { from: 'outside', to: 'pool' },
  fill: { from: 'pool', to: 'user' },
  return: { from: 'user', to: 'pool' },
  hold: { from: 'user', to: 'holds' },
  release: { from: 'holds', to: 'user' },
  charge: { from: 'holds', to: 'spent' },
};

/**
 * The private working copy of one batch. A row is copied when the batch first changes or may change it and is then
 * worked on in place, so an operation costs its own rows and never the state's size; the state given stays as it was.
 */
export class Workspace {
  readonly ledger: Ledger;
  readonly now: number;
  readonly month: Month;
  readonly usage: UsageRecord[] = [];
  readonly events: CreditEvent[] = [];
  replenishmentsLeft = REPLENISHMENTS_A_BATCH;
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
    // Processes disagree about the time by a little; one tenant's time never runs backwards, so no month is left twice.
    this.now = Math.max(now, state.ledger.updatedAt);
    this.month = monthOf(this.now);
  }

  user(userId: string): UserAccount | undefined {
    const mine = this.#users.get(userId);
    if (mine !== undefined) return mine;
    const given = this.#state.users.get(userId);
    if (given === undefined) return undefined;
    const copy = { ...given };
    this.#users.set(userId, copy);
    return copy;
  }

  /** The account behind a hold, which a complete state always has. */
  holder(hold: Hold): UserAccount {
    const user = this.user(hold.userId);
    if (user === undefined) throw new Error(`the account of user ${hold.userId} is missing for hold ${hold.id}`);
    return user;
  }

  /** An account that counts only once it is saved. */
  draftUser(userId: string, monthlyLimit: number): UserAccount {
    return newUser(userId, monthlyLimit, this.now);
  }

  saveUser(user: UserAccount): void {
    user.updatedAt = this.now;
    this.#touch();
    this.#users.set(user.userId, user);
    this.#changedUsers.add(user);
  }

  /** Read only: a hold is changed by saving another in its place. */
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

  changeSettings(changes: Partial<Settings>): void {
    this.ledger.settings = withChanges(this.ledger.settings, changes);
    this.#touch();
  }

  /** The only way credits move. `key` names the operation; nothing is written for an amount of zero. */
  transfer(key: string, code: TransferCode, amount: number, user: UserAccount | null): void {
    if (amount === 0) return;
    const { from, to } = ROUTES[code];
    const id = `${key}:${code}`;
    if (amount < 0 || this.#add(from, -amount, user) < 0) throw new Error(`transfer ${id} of ${amount} would leave ${from} below zero`);
    this.#add(to, amount, user);
    this.#touch();
    this.#transfers.push({ id, code, from, to, userId: user === null ? null : user.userId, amount, at: this.now });
  }

  /** At the change itself and not at the batch's end, so that no operation can tell how batches were cut. */
  #touch(): void {
    this.#changed = true;
    this.ledger.updatedAt = this.now;
  }

  /** Changes one account and returns what is in it then; the outside has no bottom. */
  #add(place: Place, amount: number, user: UserAccount | null): number {
    const { ledger } = this;
    switch (place) {
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
        return this.#addToUser(place, amount, user);
    }
  }

  #addToUser(place: 'user' | 'holds', amount: number, user: UserAccount | null): number {
    if (user === null) throw new Error(`a transfer to or from ${place} names no user`);
    this.ledger.allocated += amount;
    const figure = place === 'user' ? 'balance' : 'held';
    user[figure] += amount;
    return user[figure];
  }

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
 * Brings the account into the current month: what is unused goes back to the pool, then the account is filled to its limit
 * and what is carried, as far as the pool goes. User and month name the transfers, so no month is turned twice
 * whoever meets the account first.
 */
export function turn(work: Workspace, user: UserAccount): boolean {
  const missed = work.month - user.month;
  if (missed <= 0) return false;
  const key = `turn:${user.userId}:${monthLabel(work.month)}`;
  const unused = user.balance;
  work.transfer(key, 'return', unused, user);
  user.used = 0;
  user.carried = carry(user, unused);
  if (missed > 1) user.carried = carry(user, Math.min(work.ledger.pool, room(user)));
  user.month = work.month;
  work.transfer(key, 'fill', Math.min(work.ledger.pool, room(user)), user);
  work.saveUser(user);
  return true;
}

/**
 * After a month that nobody met, the account was full and went unused: what it would have held is carried again. One such
 * month stands for any number of them, as a full account left alone carries the same every month.
 */
function carry(user: UserAccount, unused: number): number {
  return user.rollover ? Math.min(user.monthlyLimit, unused) : 0;
}

/**
 * Adds the replenish amount until the balance is at or above the threshold, as one transfer, within what the batch may
 * still add. A tenant that this leaves below goes on with the next batch.
 */
export function replenish(work: Workspace, key: string): void {
  const { autoReplenish, replenishThreshold, replenishAmount } = work.ledger.settings;
  const missing = replenishThreshold - totalBalance(work.ledger);
  if (!autoReplenish || missing <= 0) return;
  const affordable = Math.floor((MAX_ISSUED - work.ledger.issued) / replenishAmount);
  const times = Math.min(Math.ceil(missing / replenishAmount), work.replenishmentsLeft, affordable);
  if (times === 0) return;
  const amount = times * replenishAmount;
  work.replenishmentsLeft -= times;
  work.transfer(key, 'replenish', amount, null);
  work.announceCredits(key, amount, 'auto_replenish');
}
