import { ServiceError, type Tenant } from '@agent-service/contracts';
import { classifyDatabaseFailure } from '@agent-service/store';
import { createBatcher, type SlowTenants, withTimeout } from '@agent-service/work';
import { tenantKey } from '../domain/accounts.ts';
import type { Operation, Result } from '../domain/operations.ts';

/** Runs concurrent operations of one tenant in one transaction. */
export interface LedgerQueue {
  /** The committed result. Rejects with `unavailable` if there is none within the limit; a repeat of the operation then gets the result. */
  submit(tenant: Tenant, operation: Operation, limitMs: number): Promise<Result>;
}

export interface LedgerQueueOptions {
  commit: (tenant: Tenant, operations: readonly Operation[]) => Promise<Result[]>;
  /** The limit of operations in one transaction. */
  maxItems: number;
  /** The limit of waiting operations of one tenant; more are refused at once. */
  maxWaiting: number;
  /** Tenants that commit in parallel, not counting those whose commits timed out recently. */
  tenantsAtOnce: number;
  slow: SlowTenants;
}

interface Entry {
  tenant: Tenant;
  operation: Operation;
  /** When the caller stops waiting, by the monotonic clock. */
  expiresAt: number;
}

const timeoutError = () => new ServiceError('unavailable', { message: 'The ledger took too long. Try again in a moment.' });
const queueFullError = () =>
  new ServiceError('unavailable', { message: 'Too many operations wait for this ledger. Try again in a moment.' });

export function createLedgerQueue({ commit, maxItems, maxWaiting, tenantsAtOnce, slow }: LedgerQueueOptions): LedgerQueue {
  const waiting = new Map<string, number>();
  const batcher = createBatcher<Entry, Result>({
    run,
    maxItems,
    classify: classifyDatabaseFailure,
    tenants: { of: ({ tenant }) => tenant, lanes: 'each', most: tenantsAtOnce, slow },
  });

  async function run(entries: Entry[]): Promise<(Result | Error)[]> {
    // An operation whose caller was told that it failed is not run.
    const unexpired = entries.filter(({ expiresAt }) => expiresAt > performance.now());
    const [first] = unexpired;
    const operations = unexpired.map(({ operation }) => operation);
    const results = first ? await commit(first.tenant, operations) : [];
    const outcomes = new Map(unexpired.map((entry, index) => [entry, results[index]]));
    return entries.map((entry) => outcomes.get(entry) ?? timeoutError());
  }

  async function enqueue(entry: Entry): Promise<Result> {
    const key = tenantKey(entry.tenant);
    const count = waiting.get(key) ?? 0;
    if (count >= maxWaiting) throw queueFullError();
    waiting.set(key, count + 1);
    try {
      return await batcher.add(entry);
    } finally {
      const remaining = (waiting.get(key) ?? 1) - 1;
      if (remaining === 0) waiting.delete(key);
      else waiting.set(key, remaining);
    }
  }

  return {
    submit(tenant, operation, limitMs) {
      const entry: Entry = { tenant, operation, expiresAt: performance.now() + limitMs };
      return withTimeout(enqueue(entry), limitMs, () => {
        // Timers and performance.now() differ a little: the operation has expired once its caller was told so.
        entry.expiresAt = Number.NEGATIVE_INFINITY;
        return timeoutError();
      });
    },
  };
}
