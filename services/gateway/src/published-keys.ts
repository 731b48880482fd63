import type { Client } from '@agent-service/contracts';

const keptMs = 10_000;

export interface PublishedKey {
  readonly kid: string;
  readonly n: string;
  readonly e: string;
}

/** Identity's public keys, kept for ten seconds: anyone may ask for them as often as they like, and the database shall not notice. */
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
