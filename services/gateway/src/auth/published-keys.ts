import type { Client } from '@agent-service/contracts';

/** No longer than a verdict on a token is kept: a revoked key is gone from here when its revocation answers. */
const keptMs = 1_000;

export interface PublishedKey {
  readonly kid: string;
  readonly n: string;
  readonly e: string;
}

/** Identity's public keys, kept for a second: anyone may ask for them as often as they like at the cost of one statement a second. */
export function publishedKeys(identity: Client<'identity'>, now: () => number = () => performance.now()): () => Promise<PublishedKey[]> {
  let known: PublishedKey[] = [];
  let askAgainAt = 0;
  let asking: Promise<PublishedKey[]> | undefined;

  async function ask(): Promise<PublishedKey[]> {
    const askedAt = now();
    const { keys } = await identity.listSigningKeys({});
    // However long the answer took: it is as old as the question.
    askAgainAt = askedAt + keptMs;
    known = keys;
    return known;
  }

  return async () => {
    if (now() < askAgainAt) return known;
    asking ??= ask().finally(() => (asking = undefined));
    return asking;
  };
}
