import { type Client, type Principal, ServiceError } from '@agent-service/contracts';
import type { Refusal, Verdict } from './verdict.ts';

const refusals: readonly string[] = ['invalid_token', 'token_expired', 'token_revoked'] satisfies Refusal[];

/** Asks identity about tokens; one verdict a token, in order. */
export const askIdentity =
  (identity: Client<'identity'>, timeoutMs: number) =>
  async (tokens: readonly string[]): Promise<Verdict[]> => {
    const askedAt = performance.now();
    const { results } = await identity.authenticate({ tokens: [...tokens] }, { timeoutMs });
    return results.map(({ principal, refusal = '', expiresInMs }) => {
      if (principal) return { principal: principal as Principal, endsAt: askedAt + Number(expiresInMs ?? Number.POSITIVE_INFINITY) };
      if (refusals.includes(refusal)) return { refusal: refusal as Refusal };
      throw new ServiceError('internal', { cause: new Error(`identity neither accepted nor refused a token: ${refusal}`) });
    });
  };
