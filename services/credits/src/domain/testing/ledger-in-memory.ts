import { newLedger, type UserAccount } from '../accounts.ts';
import { runBatch } from '../batch.ts';
import { monthOf } from '../calendar.ts';
import type { Books, UserBooks } from '../equations.ts';
import { type Operation, type Result, touchedBy } from '../operations.ts';
import type { CreditEvent, Hold, LedgerState, Outcome, Place, Remembered, Transfer, UsageRecord } from '../state.ts';

/** One tenant's books in memory: what a store does around the kernel, and no more. */
export class LedgerInMemory {
  ledger;
  readonly users = new Map<string, UserAccount>();
  readonly holds = new Map<string, Hold>();
  readonly remembered = new Map<string, Remembered>();
  readonly transfers = new Map<string, Transfer>();
  readonly usage = new Map<string, UsageRecord>();
  readonly events = new Map<string, CreditEvent>();

  constructor(now: number) {
    this.ledger = newLedger(now);
  }

  /** Runs one batch on exactly what it touches, frozen, and takes over what came out. */
  run(now: number, operations: readonly Operation[]): Outcome {
    const outcome = runBatch(this.#load(operations), now, operations);
    this.ledger = outcome.ledger ?? this.ledger;
    for (const user of outcome.users) this.users.set(user.userId, user);
    for (const hold of outcome.holds) this.holds.set(hold.id, hold);
    addOnce(this.remembered, outcome.remembered, (record) => record.id);
    addOnce(this.transfers, outcome.transfers, (transfer) => transfer.id);
    addOnce(this.usage, outcome.usage, (record) => record.holdId);
    addOnce(this.events, outcome.events, (event) => event.id);
    return outcome;
  }

  /** Runs one operation and returns its result. */
  one(now: number, operation: Operation): Result {
    const [result] = this.run(now, [operation]).results;
    if (result === undefined) throw new Error('an operation came back without a result');
    return result;
  }

  user(userId: string): UserAccount {
    const user = this.users.get(userId);
    if (user === undefined) throw new Error(`${userId} has no account`);
    return user;
  }

  /** Everything that can be compared between two ledgers. */
  snapshot(): unknown {
    const { ledger, users, holds, remembered, transfers, usage, events } = this;
    return structuredClone({ ledger, users, holds, remembered, transfers, usage, events });
  }

  books(): Books {
    const { users, holds, ledger } = this;
    const open = [...holds.values()].filter((hold) => hold.state === 'open');
    return {
      ledger,
      users: [...users.values()].map((account) => this.#userBooks(account, open)),
      strayHolds: sum(open.filter((hold) => !users.has(hold.userId)).map((hold) => hold.amount)),
      poolByTransfers: this.#net('pool', null),
      spentByTransfers: this.#net('spent', null),
      issuedByTransfers: -this.#net('outside', null),
      spentByRecords: sum([...this.usage.values()].map((record) => record.credits)),
    };
  }

  #userBooks(account: UserAccount, open: Hold[]): UserBooks {
    const { userId, month } = account;
    const records = [...this.usage.values()].filter((record) => record.userId === userId && monthOf(record.at) === month);
    return {
      account,
      openHolds: sum(open.filter((hold) => hold.userId === userId).map((hold) => hold.amount)),
      balanceByTransfers: this.#net('user', userId),
      heldByTransfers: this.#net('holds', userId),
      usedByRecords: sum(records.map((record) => record.credits)),
    };
  }

  #net(place: Place, userId: string | null): number {
    const mine = [...this.transfers.values()].filter((transfer) => userId === null || transfer.userId === userId);
    return sum(mine.map(({ from, to, amount }) => (to === place ? amount : 0) - (from === place ? amount : 0)));
  }

  #load(operations: readonly Operation[]): LedgerState {
    const touched = touchedBy(operations);
    const holds = pick(this.holds, touched.holds);
    for (const hold of holds.values()) touched.users.add(hold.userId);
    Object.freeze(this.ledger.settings);
    return {
      ledger: Object.freeze(this.ledger),
      users: pick(this.users, touched.users),
      holds,
      remembered: pick(this.remembered, touched.remembered),
    };
  }
}

function pick<T extends object>(all: Map<string, T>, ids: Set<string>): Map<string, Readonly<T>> {
  const found = new Map<string, Readonly<T>>();
  for (const id of ids) {
    const row = all.get(id);
    if (row !== undefined) found.set(id, Object.freeze(row));
  }
  return found;
}

/** Stands for a unique index. */
function addOnce<T>(all: Map<string, T>, rows: readonly T[], idOf: (row: T) => string): void {
  for (const row of rows) {
    if (all.has(idOf(row))) throw new Error(`${idOf(row)} was written twice`);
    all.set(idOf(row), row);
  }
}

function sum(amounts: number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
