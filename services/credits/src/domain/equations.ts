import { type Ledger, room, type UserAccount } from './accounts.ts';

/** The figures of a user's account in its row, and the same figures added up from holds, transfers and usage records. */
export interface UserFigures {
  account: Readonly<UserAccount>;
  openHolds: number;
  /** Transfers to the account minus transfers from it. */
  balanceByTransfers: number;
  heldByTransfers: number;
  /** The credits of usage records of the account's month. */
  usedByRecords: number;
}

/** The figures of a ledger in its row, and the same figures added up from other rows. The database adds them up. */
export interface LedgerFigures {
  ledger: Readonly<Ledger>;
  /** Open holds of users who have no account; 0 if all is consistent. */
  strayHolds: number;
  poolByTransfers: number;
  spentByTransfers: number;
  /** Purchases and replenishments. */
  issuedByTransfers: number;
  /** The credits of all usage records. */
  spentByRecords: number;
}

/** All figures of one tenant. */
export interface TenantFigures extends LedgerFigures {
  users: Iterable<UserFigures>;
}

export interface Discrepancy {
  /** The equation that does not hold, in words. */
  equation: string;
  /** The account that the equation is about: "ledger" or a user's id. */
  account: string;
  expected: number;
  actual: number;
}

/** All equations that do not hold; none if the figures are consistent. */
export function checkFigures(figures: TenantFigures): Discrepancy[] {
  const discrepancies: Discrepancy[] = [];
  let allocated = 0;
  for (const user of figures.users) {
    allocated += allocatedTo(user.account);
    discrepancies.push(...checkUser(user));
  }
  return [...discrepancies, ...checkLedger(figures, allocated)];
}

/** The user's part of the ledger's `allocated`. */
export function allocatedTo({ balance, onHold }: Readonly<UserAccount>): number {
  return balance + onHold;
}

/** `allocated` is the sum over all users of the tenant. */
export function checkLedger(figures: LedgerFigures, allocated: number): Discrepancy[] {
  const discrepancies: Discrepancy[] = [];
  const { ledger } = figures;
  const expectEqual = createComparison('ledger', discrepancies);
  expectEqual('allocated = user accounts + their open holds', allocated, ledger.allocated);
  expectEqual('issued = unallocated + allocated + spent', ledger.issued, ledger.pool + ledger.allocated + ledger.spent);
  expectEqual('unallocated = its transfers', figures.poolByTransfers, ledger.pool);
  expectEqual('spent = its transfers', figures.spentByTransfers, ledger.spent);
  expectEqual('issued = its transfers', figures.issuedByTransfers, ledger.issued);
  expectEqual('spent = usage records', figures.spentByRecords, ledger.spent);
  expectEqual('no open hold is without an account', 0, figures.strayHolds);
  notNegative('ledger', discrepancies, {
    unallocated: ledger.pool,
    allocated: ledger.allocated,
    spent: ledger.spent,
    issued: ledger.issued,
  });
  return discrepancies;
}

export function checkUser(user: UserFigures): Discrepancy[] {
  const discrepancies: Discrepancy[] = [];
  const { account } = user;
  const expectEqual = createComparison(account.userId, discrepancies);
  expectEqual('held = open holds', user.openHolds, account.onHold);
  expectEqual('balance = its transfers', user.balanceByTransfers, account.balance);
  expectEqual('held = its transfers', user.heldByTransfers, account.onHold);
  expectEqual('used this month = usage records of the month', user.usedByRecords, account.used);
  if (account.balance > room(account)) {
    discrepancies.push({
      equation: 'balance <= what the limit allows',
      account: account.userId,
      expected: room(account),
      actual: account.balance,
    });
  }
  if (account.carried > account.monthlyLimit) {
    discrepancies.push({
      equation: 'carried <= monthly limit',
      account: account.userId,
      expected: account.monthlyLimit,
      actual: account.carried,
    });
  }
  const { balance, onHold, used, carried } = account;
  notNegative(account.userId, discrepancies, { balance, held: onHold, 'used this month': used, carried });
  return discrepancies;
}

function createComparison(account: string, discrepancies: Discrepancy[]): (equation: string, expected: number, actual: number) => void {
  return (equation, expected, actual) => {
    if (expected !== actual) discrepancies.push({ equation, account, expected, actual });
  };
}

function notNegative(account: string, discrepancies: Discrepancy[], figures: Record<string, number>): void {
  for (const [name, actual] of Object.entries(figures)) {
    if (!(actual >= 0)) discrepancies.push({ equation: `${name} >= 0`, account, expected: 0, actual });
  }
}
