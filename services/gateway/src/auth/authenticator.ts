import { hash } from 'node:crypto';
import { type Principal, ServiceError } from '@agent-service/contracts';
import { createBatcher } from '@agent-service/work';
import { LRUCache } from 'lru-cache';
import { couldBeOurs } from './bearer.ts';
import { accept, keepPrincipal, type Verdict } from './verdict.ts';

/** How long a verdict is used. Identity waits longer than this after a revocation before it answers. */
export const leaseMs = 1_000;
const attempts = 3;
const maxLeases = 50_000;
const maxBatch = 200;
const batchesAtOnce = 4;

interface Lease {
  readonly verdict: Verdict;
  readonly endsAt: number;
}

/** Swallows that an answer came too late, where there is time to ask again. */
const unlessLate = (askAgain: boolean) => (cause: unknown) => {
  if (askAgain && cause instanceof ServiceError && cause.code === 'deadline_exceeded') return undefined;
  throw cause;
};

const idOf = (token: string) => hash('sha256', token, 'base64url');

export interface AuthenticatorOptions {
  readonly ask: (tokens: readonly string[]) => Promise<Verdict[]>;
  /** A clock that never goes back, in milliseconds. */
  readonly now?: () => number;
}

export interface Authenticator {
  /** Whom the token stands for; rejects with what is wrong with it, or with 503 when nobody can say. */
  authenticate(token: string): Promise<Principal>;
  /** Whether the token was good when it was last judged here. */
  knows(token: string): boolean;
}

/**
 * Keeps identity's verdict on a token, good or bad, for one second counted from before it was asked. So a verdict is never
 * older than a second however slow the answer was, and a revoked token is dead everywhere when the revocation answers.
 */
export function createAuthenticator({ ask, now = () => performance.now() }: AuthenticatorOptions): Authenticator {
  const leases = new LRUCache<string, Lease>({ max: maxLeases });
  const pending = new Map<string, Promise<Lease>>();
  const batcher = createBatcher<string, Lease>({
    maxItems: maxBatch,
    concurrency: batchesAtOnce,
    run: async (tokens) => {
      const endsAt = now() + leaseMs;
      return (await ask(tokens)).map((verdict) => ({ verdict, endsAt }));
    },
  });

  async function renew(id: string, token: string): Promise<Lease> {
    try {
      const { verdict, endsAt } = await batcher.add(token);
      const lease = { verdict: keepPrincipal(verdict, leases.peek(id)?.verdict), endsAt };
      leases.set(id, lease);
      return lease;
    } finally {
      pending.delete(id);
    }
  }

  function renewOnce(id: string, token: string): Promise<Lease> {
    const renewal = pending.get(id) ?? renew(id, token);
    pending.set(id, renewal);
    return renewal;
  }

  async function currentLease(id: string, token: string): Promise<Lease> {
    let lease = leases.get(id);
    // An answer that took longer than its lease is no longer an answer, and a replica that gives none is not the only one.
    for (let left = attempts; left > 0 && !isCurrent(lease); left--) lease = await renewOnce(id, token).catch(unlessLate(left > 1));
    if (!isCurrent(lease)) throw new ServiceError('unavailable');
    return lease;
  }

  const isCurrent = (lease: Lease | undefined): lease is Lease => lease !== undefined && now() < lease.endsAt;

  return {
    async authenticate(token) {
      if (!couldBeOurs(token)) throw new ServiceError('invalid_token');
      const { verdict } = await currentLease(idOf(token), token);
      return accept(verdict, now());
    },
    knows(token) {
      const verdict = leases.peek(idOf(token))?.verdict;
      return verdict !== undefined && 'principal' in verdict;
    },
  };
}
