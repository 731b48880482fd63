import { type Client, callDetached } from '@agent-service/contracts';

const askWithinMs = 5_000;
/** No longer than the lifetime of a verdict, so that a revoked key is removed before its revocation answers. */
const lifetimeMs = 1_000;

export interface PublishedKey {
  readonly kid: string;
  readonly n: string;
  readonly e: string;
}

/** Caches identity's public keys for a second, because the endpoint is open to every caller. */
export function publishedKeys(identity: Client<'identity'>, now: () => number = () => performance.now()): () => Promise<PublishedKey[]> {
  let known: PublishedKey[] = [];
  let askAgainAt = 0;
  let asking: Promise<PublishedKey[]> | undefined;

  async function ask(): Promise<PublishedKey[]> {
    const askedAt = now();
    // Several requests may wait for it, so it does not end when the first of them disconnects.
    const { keys } = await callDetached(askWithinMs, () => identity.listSigningKeys({}));
    // The keys are as old as the request for them, however long the response took.
    askAgainAt = askedAt + lifetimeMs;
    known = keys;
    return known;
  }

  return async () => {
    if (now() < askAgainAt) return known;
    asking ??= ask().finally(() => (asking = undefined));
    return asking;
  };
}
