import { ServiceError } from '@agent-service/contracts';
import { type Batcher, createBatcher, withTimeout } from '@agent-service/runtime';
import type { Operation } from '../domain/operations.ts';
import type { Result } from '../domain/results.ts';
import { nameOf, type Tenant } from '../domain/tenant.ts';
import { createSlots } from './slots.ts';

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
  /** Tenants that commit in parallel. */
  tenantsAtOnce: number;
}

interface Entry {
  operation: Operation;
  /** Nobody waits for it any more: by the monotonic clock. */
  expiresAt: number;
}

interface Line {
  batcher: Batcher<Entry, Result>;
  waiting: number;
}

const expired = () => new ServiceError('unavailable', { message: 'The ledger took too long. Try again in a moment.' });
const crowded = () => new ServiceError('unavailable', { message: 'Too many operations wait for this ledger. Try again in a moment.' });

export function createLedgerQueue({ commit, maxItems, maxWaiting, tenantsAtOnce }: LedgerQueueOptions): LedgerQueue {
  const lines = new Map<string, Line>();
  const slots = createSlots(tenantsAtOnce);

  async function run(tenant: Tenant, entries: Entry[]): Promise<(Result | Error)[]> {
    const outcomes = await slots.run(async () => {
      // What nobody waits for any more changes nothing: its caller was told so.
      const live = entries.filter(({ expiresAt }) => expiresAt > performance.now());
      const results = live.length === 0 ? [] : await commitAll(tenant, live);
      return new Map(live.map((entry, index) => [entry, results[index] as Result | Error]));
    });
    return entries.map((entry) => outcomes.get(entry) ?? expired());
  }

  /** One transaction for all, or, when that fails for another reason than an absent database, one for each. */
  async function commitAll(tenant: Tenant, entries: readonly Entry[]): Promise<(Result | Error)[]> {
    try {
      return await commit(
        tenant,
        entries.map(({ operation }) => operation),
      );
    } catch (cause) {
      if (entries.length === 1 || (cause instanceof ServiceError && cause.code === 'unavailable')) throw cause;
      const results: (Result | Error)[] = [];
      for (const { operation } of entries) results.push(await commitAlone(tenant, operation));
      return results;
    }
  }

  async function commitAlone(tenant: Tenant, operation: Operation): Promise<Result | Error> {
    try {
      const [result] = await commit(tenant, [operation]);
      return result ?? new Error('an operation came back without a result');
    } catch (cause) {
      return cause instanceof Error ? cause : new Error(String(cause));
    }
  }

  function lineOf(key: string, tenant: Tenant): Line {
    const known = lines.get(key) ?? { batcher: createBatcher({ run: (entries) => run(tenant, entries), maxItems }), waiting: 0 };
    lines.set(key, known);
    return known;
  }

  async function enqueue(tenant: Tenant, entry: Entry): Promise<Result> {
    const key = nameOf(tenant);
    const line = lineOf(key, tenant);
    if (line.waiting >= maxWaiting) throw crowded();
    line.waiting += 1;
    try {
      return await line.batcher.add(entry);
    } finally {
      line.waiting -= 1;
      if (line.waiting === 0) lines.delete(key);
    }
  }

  return {
    submit(tenant, operation, limitMs) {
      const entry: Entry = { operation, expiresAt: performance.now() + limitMs };
      return withTimeout(enqueue(tenant, entry), limitMs, () => {
        // A timer may fire a little before its time by the other clock; what the caller is told decides.
        entry.expiresAt = Number.NEGATIVE_INFINITY;
        return expired();
      });
    },
  };
}
