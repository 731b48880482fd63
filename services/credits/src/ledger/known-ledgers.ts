import { LRUCache } from 'lru-cache';
import { type Ledger, nameOf, type Tenant, type UserAccount } from '../domain/accounts.ts';
import type { Operation } from '../domain/operations.ts';
import type { Hold, Outcome } from '../domain/state.ts';
import type { Loaded } from '../store/load.ts';

const mostTenants = 1_000;
/** Users and open holds of all tenants together. */
const mostRows = 50_000;

/**
 * What this process saw of ledgers when it last wrote them. It may be out of date at any time: whoever writes on the ground of it
 * does so under its stamp, and forgets it where that is another by now.
 */
export interface KnownLedgers {
  /** What the operations touch, where all of it is known. A hold that nobody has seen here counts as a new one. */
  find(tenant: Tenant, operations: readonly Operation[]): Loaded | undefined;
  /** Takes note of what was saved, and under which stamp, on the ground of what had been loaded or found. */
  saved(tenant: Tenant, before: Loaded, outcome: Outcome, stamp: string): void;
  forget(tenant: Tenant): void;
}

interface Known {
  readonly stamp: string;
  readonly ledger: Readonly<Ledger>;
  readonly users: Map<string, Readonly<UserAccount>>;
  /** Open ones only: an ended hold comes back too seldom. */
  readonly holds: Map<string, Readonly<Hold>>;
}

export function createKnownLedgers(): KnownLedgers {
  const all = new LRUCache<string, Known>({
    max: mostTenants,
    maxSize: mostRows,
    sizeCalculation: ({ users, holds }) => 1 + users.size + holds.size,
  });

  return {
    find(tenant, operations) {
      const known = all.get(nameOf(tenant));
      if (!known || !isEnough(known, operations)) return undefined;
      const { stamp, ledger, users, holds } = known;
      return { state: { ledger, users, holds, remembered: none }, stamp };
    },
    saved(tenant, before, outcome, stamp) {
      const name = nameOf(tenant);
      const kept = all.peek(name);
      // Another batch of this process was noted meanwhile, and stamps do not say which was the later one.
      if (kept && kept.stamp !== before.stamp) return void all.delete(name);
      const rows = kept ?? { users: new Map(), holds: new Map() };
      if (rows.users !== before.state.users) note(rows, [...before.state.users.values()], [...before.state.holds.values()]);
      note(rows, outcome.users, outcome.holds);
      all.set(name, { stamp, ledger: outcome.ledger ?? before.state.ledger, users: rows.users, holds: rows.holds });
    },
    forget: (tenant) => void all.delete(nameOf(tenant)),
  };
}

const none: ReadonlyMap<string, never> = new Map<string, never>();

function note({ users, holds }: Pick<Known, 'users' | 'holds'>, someUsers: readonly UserAccount[], someHolds: readonly Hold[]): void {
  for (const user of someUsers) users.set(user.userId, user);
  for (const hold of someHolds) {
    if (hold.state === 'open') holds.set(hold.id, hold);
    else holds.delete(hold.id);
  }
}

const isEnough = (known: Known, operations: readonly Operation[]): boolean => operations.every((operation) => knows(known, operation));

function knows({ users, holds }: Known, operation: Operation): boolean {
  switch (operation.kind) {
    case 'hold':
    case 'turn':
    case 'read':
      return users.has(operation.userId);
    case 'settle':
    case 'release':
      return holds.has(operation.id);
    case 'grant':
    case 'allocate':
    case 'settings':
      return false;
  }
}
