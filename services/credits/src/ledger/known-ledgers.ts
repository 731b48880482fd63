import { LRUCache } from 'lru-cache';
import type { Ledger, UserAccount } from '../domain/accounts.ts';
import type { Hold } from '../domain/holds.ts';
import type { Operation } from '../domain/operations.ts';
import type { Outcome } from '../domain/state.ts';
import type { Tenant } from '../domain/tenant.ts';
import type { Loaded } from '../store/load.ts';

const mostTenants = 1_000;
/** Users and open holds of all tenants together. */
const mostRows = 50_000;

/**
 * What this process saw of ledgers when it last wrote them. It may be out of date at any time: whoever writes on the ground of it
 * does so under its version, and forgets it where that does not hold any more.
 */
export interface KnownLedgers {
  /** What the operations touch, where all of it is known. A hold that nobody has seen here counts as a new one. */
  find(tenant: Tenant, operations: readonly Operation[]): Loaded | undefined;
  /** Takes note of what was saved, at which version, on the ground of what had been loaded or found. */
  saved(tenant: Tenant, before: Loaded, outcome: Outcome, version: number): void;
  forget(tenant: Tenant): void;
}

interface Known {
  readonly version: number;
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

  /** The rows that are known at the version that was written on, and those that were loaded for it. */
  function rowsOf(kept: Known | undefined, { state, version }: Loaded): Pick<Known, 'users' | 'holds'> {
    const rows = kept?.version === version ? kept : { users: new Map(), holds: new Map() };
    if (rows.users !== state.users) note(rows, [...state.users.values()], [...state.holds.values()]);
    return rows;
  }

  return {
    find(tenant, operations) {
      const known = all.get(nameOf(tenant));
      if (!known || !isEnough(known, operations)) return undefined;
      const { version, ledger, users, holds } = known;
      return { state: { ledger, users, holds, remembered: none }, version };
    },
    saved(tenant, before, outcome, version) {
      const name = nameOf(tenant);
      const kept = all.peek(name);
      // Somebody who wrote later has noted it earlier.
      if (kept && kept.version > before.version) return;
      const { users, holds } = rowsOf(kept, before);
      note({ users, holds }, outcome.users, outcome.holds);
      all.set(name, { version, ledger: outcome.ledger ?? before.state.ledger, users, holds });
    },
    forget: (tenant) => void all.delete(nameOf(tenant)),
  };
}

const none: ReadonlyMap<string, never> = new Map<string, never>();

const nameOf = ({ organizationId, environment }: Tenant): string => `${organizationId} ${environment}`;

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
