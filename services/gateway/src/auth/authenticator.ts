import { hash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Client, type Principal, ServiceError } from '@agent-service/contracts';
import { createBatcher } from '@agent-service/work';
import { LRUCache } from 'lru-cache';
import { couldBeOurs, malformedTokenMessage } from './authorization-header.ts';

type Refusal = 'invalid_token' | 'token_expired' | 'token_revoked';

/** Identity's verdict on a token, and when the token expires by the monotonic clock (infinity where it does not). */
export type Verdict = { readonly principal: Principal; readonly endsAt: number } | { readonly refusal: Refusal };

/** The principal of a token that has not expired; throws otherwise. */
function accept(verdict: Verdict, now: number): Principal {
  if ('refusal' in verdict) throw new ServiceError(verdict.refusal);
  if (verdict.endsAt <= now) throw new ServiceError('token_expired');
  return verdict.principal;
}

/** Keeps the earlier principal object where nothing changed, because encoded principals are cached by object. */
function keepPrincipal(verdict: Verdict, before: Verdict | undefined): Verdict {
  if (!before || 'refusal' in before || 'refusal' in verdict || !isDeepStrictEqual(before.principal, verdict.principal)) return verdict;
  return { principal: before.principal, endsAt: verdict.endsAt };
}

/** Identity waits longer than this after a revocation before it answers (`revocationWaitMs`). */
const verdictLifetimeMs = 1_000;
const attempts = 3;
const maxVerdicts = 50_000;
const maxBatch = 200;
const batchesAtOnce = 4;

interface CachedVerdict {
  readonly verdict: Verdict;
  readonly endsAt: number;
}

const isTimeout = (cause: unknown): boolean => cause instanceof ServiceError && cause.code === 'deadline_exceeded';

const idOf = (token: string) => hash('sha256', token, 'base64url');

interface AuthenticatorOptions {
  readonly ask: (tokens: readonly string[]) => Promise<Verdict[]>;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

export interface Authenticator {
  /** The principal of the token. Rejects with 401 if it is not valid, and with 503 if identity does not answer. */
  authenticate(token: string): Promise<Principal>;
  /** True if the last verdict on the token was good. */
  knows(token: string): boolean;
}

/**
 * Keeps identity's verdict on a token, good or bad, for one second counted from before it was asked. So a verdict is never
 * older than a second however slow the response was, and a revoked token is refused everywhere when the revocation answers.
 */
export function createAuthenticator({ ask, now = () => performance.now() }: AuthenticatorOptions): Authenticator {
  const verdicts = new LRUCache<string, CachedVerdict>({ max: maxVerdicts });
  const pending = new Map<string, Promise<CachedVerdict>>();
  const batcher = createBatcher<string, CachedVerdict>({
    maxItems: maxBatch,
    concurrency: batchesAtOnce,
    run: async (tokens) => {
      const endsAt = now() + verdictLifetimeMs;
      return (await ask(tokens)).map((verdict) => ({ verdict, endsAt }));
    },
  });

  async function askFor(id: string, token: string): Promise<CachedVerdict> {
    try {
      const { verdict, endsAt } = await batcher.add(token);
      const cached = { verdict: keepPrincipal(verdict, verdicts.peek(id)?.verdict), endsAt };
      verdicts.set(id, cached);
      return cached;
    } finally {
      pending.delete(id);
    }
  }

  function askOnce(id: string, token: string): Promise<CachedVerdict> {
    const asking = pending.get(id) ?? askFor(id, token);
    pending.set(id, asking);
    return asking;
  }

  async function currentVerdict(id: string, token: string): Promise<CachedVerdict> {
    const cached = verdicts.get(id);
    if (cached && isCurrent(cached)) return cached;
    // A verdict that arrives after its end is not used. It is asked for again, as after a timeout: another replica may be faster.
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const received = await askOnce(id, token).catch((cause: unknown) => {
        if (attempt === attempts || !isTimeout(cause)) throw cause;
        return undefined;
      });
      if (received && isCurrent(received)) return received;
    }
    throw new ServiceError('unavailable', { cause: new Error(`identity answered ${attempts} times later than its verdict may be used`) });
  }

  const isCurrent = ({ endsAt }: CachedVerdict): boolean => now() < endsAt;

  return {
    async authenticate(token) {
      if (!couldBeOurs(token)) throw new ServiceError('invalid_token', { message: malformedTokenMessage(token) });
      const { verdict } = await currentVerdict(idOf(token), token);
      return accept(verdict, now());
    },
    knows(token) {
      const verdict = verdicts.peek(idOf(token))?.verdict;
      return verdict !== undefined && 'principal' in verdict;
    },
  };
}

const refusals: readonly string[] = ['invalid_token', 'token_expired', 'token_revoked'] satisfies Refusal[];

/** Most principals have none of the last fields, and each call to a service carries the whole principal. */
function withoutEmpty({ agentId, tokenId, tokenEndsAt = '0', tokenIssuedAt = '0', tokenKid, ...principal }: Principal): Principal {
  return {
    ...principal,
    ...(agentId && { agentId, tokenId: tokenId ?? '' }),
    ...(tokenEndsAt !== '0' && { tokenEndsAt }),
    ...(tokenIssuedAt !== '0' && { tokenIssuedAt, tokenKid: tokenKid ?? '' }),
  };
}

/** Reads identity's verdicts on tokens, one for each, in order. */
export const askIdentity =
  (identity: Client<'identity'>, timeoutMs: number) =>
  async (tokens: readonly string[]): Promise<Verdict[]> => {
    const askedAt = performance.now();
    const { results } = await identity.authenticate({ tokens: [...tokens], agentTokens: true }, { timeoutMs });
    return results.map(({ principal, refusal = '', expiresInMs }) => {
      if (principal)
        return { principal: withoutEmpty(principal as Principal), endsAt: askedAt + Number(expiresInMs ?? Number.POSITIVE_INFINITY) };
      if (refusals.includes(refusal)) return { refusal: refusal as Refusal };
      throw new ServiceError('internal', { cause: new Error(`identity neither accepted nor refused a token: ${refusal}`) });
    });
  };
