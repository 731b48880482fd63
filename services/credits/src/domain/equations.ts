import { type Ledger, room, type UserAccount } from './accounts.ts';

/** A user's accounts as their rows have them, and as the holds, transfers and usage records add up to. */
export interface UserBooks {
  account: Readonly<UserAccount>;
  openHolds: number;
  /** Transfers in less transfers out. */
  balanceByTransfers: number;
  heldByTransfers: number;
  /** The credits of usage records of the account's month. */
  usedByRecords: number;
}

/** A ledger's row and what it must agree with. The sums are the reader's, so that a database can do the adding. */
export interface LedgerBooks {
  ledger: Readonly<Ledger>;
  /** Open holds of users who have no account; 0 in good books. */
  strayHolds: number;
  poolByTransfers: number;
  spentByTransfers: number;
  /** Purchases and replenishments. */
  issuedByTransfers: number;
  /** The credits of all usage records. */
  spentByRecords: number;
}

/** One tenant's full books. */
export interface Books extends LedgerBooks {
  users: Iterable<UserBooks>;
}

export interface Discrepancy {
  /** The equation that does not hold, in words. */
  equation: string;
  /** The account that is off: "ledger" or a user's id. */
  account: string;
  expected: number;
  actual: number;
}

/** Proves the books; what comes back is everything that is off, and nothing where all is well. */
export function checkBooks(books: Books): Discrepancy[] {
  const found: Discrepancy[] = [];
  let allocated = 0;
  for (const user of books.users) {
    allocated += allocatedTo(user.account);
    found.push(...checkUser(user));
  }
  return [...found, ...checkLedger(books, allocated)];
}

/** A user's part of what the ledger calls allocated. */
export function allocatedTo({ balance, held }: Readonly<UserAccount>): number {
  return balance + held;
}

/** `allocated` is the sum over all users of the tenant. */
export function checkLedger(books: LedgerBooks, allocated: number): Discrepancy[] {
  const found: Discrepancy[] = [];
  const { ledger } = books;
  const equal = comparing('ledger', found);
  equal('allocated = user accounts + their open holds', allocated, ledger.allocated);
  equal('issued = unallocated + allocated + spent', ledger.issued, ledger.pool + ledger.allocated + ledger.spent);
  equal('unallocated = its transfers', books.poolByTransfers, ledger.pool);
  equal('spent = its transfers', books.spentByTransfers, ledger.spent);
  equal('issued = its transfers', books.issuedByTransfers, ledger.issued);
  equal('spent = usage records', books.spentByRecords, ledger.spent);
  equal('no open hold is without an account', 0, books.strayHolds);
  notNegative('ledger', found, { unallocated: ledger.pool, allocated: ledger.allocated, spent: ledger.spent, issued: ledger.issued });
  return found;
}

export function checkUser(user: UserBooks): Discrepancy[] {
  const found: Discrepancy[] = [];
  const { account } = user;
  const equal = comparing(account.userId, found);
  equal('held = open holds', user.openHolds, account.held);
  equal('balance = its transfers', user.balanceByTransfers, account.balance);
  equal('held = its transfers', user.heldByTransfers, account.held);
  equal('used this month = usage records of the month', user.usedByRecords, account.used);
  if (account.balance > room(account)) {
    found.push({ equation: 'balance <= what the limit allows', account: account.userId, expected: room(account), actual: account.balance });
  }
  if (account.carried > account.monthlyLimit) {
    found.push({ equation: 'carried <= monthly limit', account: account.userId, expected: account.monthlyLimit, actual: account.carried });
  }
  const { balance, held, used, carried } = account;
  notNegative(account.userId, found, { balance, held, 'used this month': used, carried });
  return found;
}

function comparing(account: string, found: Discrepancy[]): (equation: string, expected: number, actual: number) => void {
  return (equation, expected, actual) => {
    if (expected !== actual) found.push({ equation, account, expected, actual });
  };
}

function notNegative(account: string, found: Discrepancy[], figures: Record<string, number>): void {
  for (const [name, actual] of Object.entries(figures)) {
    if (!(actual >= 0)) found.push({ equation: `${name} >= 0`, account, expected: 0, actual });
  }
}
