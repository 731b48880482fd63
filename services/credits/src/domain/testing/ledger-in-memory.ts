import { newLedger, type UserAccount } from '../accounts.ts';
import { applyOperations } from '../batch.ts';
import { monthOf } from '../calendar.ts';
import type { TenantFigures, UserFigures } from '../equations.ts';
import type { Operation, Result } from '../operations.ts';
import type { CreditEvent, Hold, LedgerAccount, LedgerState, Outcome, Remembered, Transfer, UsageRecord } from '../state.ts';
import { touchedBy } from '../workspace.ts';

/** One tenant's ledger in memory: stores the outcomes of batches as the database does. */
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

  /** Runs one batch on the frozen rows that it touches, and stores the outcome. */
  run(now: number, operations: readonly Operation[]): Outcome {
    const outcome = applyOperations(this.#load(operations), now, operations);
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
    if (result === undefined) throw new Error('an operation has no result');
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

  figures(): TenantFigures {
    const { users, holds, ledger } = this;
    const open = [...holds.values()].filter((hold) => hold.state === 'open');
    return {
      ledger,
      users: [...users.values()].map((account) => this.#userFigures(account, open)),
      strayHolds: sum(open.filter((hold) => !users.has(hold.userId)).map((hold) => hold.amount)),
      poolByTransfers: this.#net('pool', null),
      spentByTransfers: this.#net('spent', null),
      issuedByTransfers: -this.#net('outside', null),
      spentByRecords: sum([...this.usage.values()].map((record) => record.credits)),
    };
  }

  #userFigures(account: UserAccount, open: Hold[]): UserFigures {
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

  #net(account: LedgerAccount, userId: string | null): number {
    const transfers = [...this.transfers.values()].filter((transfer) => userId === null || transfer.userId === userId);
    return sum(transfers.map(({ from, to, amount }) => (to === account ? amount : 0) - (from === account ? amount : 0)));
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
  const rows = new Map<string, Readonly<T>>();
  for (const id of ids) {
    const row = all.get(id);
    if (row !== undefined) rows.set(id, Object.freeze(row));
  }
  return rows;
}

/** Fails as a unique index does. */
function addOnce<T>(all: Map<string, T>, rows: readonly T[], idOf: (row: T) => string): void {
  for (const row of rows) {
    if (all.has(idOf(row))) throw new Error(`${idOf(row)} was written twice`);
    all.set(idOf(row), row);
  }
}

function sum(amounts: number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
