import { ServiceError } from '@agent-service/contracts';
import { judgeStatement } from '@agent-service/store';
import { createBatcher, type SlowTenants, withTimeout } from '@agent-service/work';
import { nameOf, type Tenant } from '../domain/accounts.ts';
import type { Operation, Result } from '../domain/operations.ts';

/** Turns concurrent operations of one tenant into one transaction. */
export interface LedgerQueue {
  /**
   * The committed result. Rejects with `unavailable` where none has come within the limit; then a later repeat of the
   * operation tells what became of it.
   */
  submit(tenant: Tenant, operation: Operation, limitMs: number): Promise<Result>;
}

export interface LedgerQueueOptions {
  commit: (tenant: Tenant, operations: readonly Operation[]) => Promise<Result[]>;
  /** Operations in one transaction at most. */
  maxItems: number;
  /** Operations of one tenant that may wait; more are refused at once. */
  maxWaiting: number;
  /** Tenants that commit in parallel, beside those whose commits timed out lately. */
  tenantsAtOnce: number;
  slow: SlowTenants;
}

interface Entry {
  tenant: Tenant;
  operation: Operation;
  /** Nobody waits for it any more: by the monotonic clock. */
  expiresAt: number;
}

const expired = () => new ServiceError('unavailable', { message: 'The ledger took too long. Try again in a moment.' });
const crowded = () => new ServiceError('unavailable', { message: 'Too many operations wait for this ledger. Try again in a moment.' });

export function createLedgerQueue({ commit, maxItems, maxWaiting, tenantsAtOnce, slow }: LedgerQueueOptions): LedgerQueue {
  const waiting = new Map<string, number>();
  const batcher = createBatcher<Entry, Result>({
    run,
    maxItems,
    judge: judgeStatement,
    tenants: { of: ({ tenant }) => tenant, lanes: 'each', most: tenantsAtOnce, slow },
  });

  async function run(entries: Entry[]): Promise<(Result | Error)[]> {
    // An operation whose caller was told that it failed changes nothing.
    const live = entries.filter(({ expiresAt }) => expiresAt > performance.now());
    const [first] = live;
    const operations = live.map(({ operation }) => operation);
    const results = first ? await commit(first.tenant, operations) : [];
    const outcomes = new Map(live.map((entry, index) => [entry, results[index]]));
    return entries.map((entry) => outcomes.get(entry) ?? expired());
  }

  async function enqueue(entry: Entry): Promise<Result> {
    const name = nameOf(entry.tenant);
    const count = waiting.get(name) ?? 0;
    if (count >= maxWaiting) throw crowded();
    waiting.set(name, count + 1);
    try {
      return await batcher.add(entry);
    } finally {
      const left = (waiting.get(name) ?? 1) - 1;
      if (left === 0) waiting.delete(name);
      else waiting.set(name, left);
    }
  }

  return {
    submit(tenant, operation, limitMs) {
      const entry: Entry = { tenant, operation, expiresAt: performance.now() + limitMs };
      return withTimeout(enqueue(entry), limitMs, () => {
        // A timer may fire a little before its time by the other clock; what the caller is told decides.
        entry.expiresAt = Number.NEGATIVE_INFINITY;
        return expired();
      });
    },
  };
}
