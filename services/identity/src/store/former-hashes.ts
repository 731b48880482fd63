import type { ProcessContext } from '@agent-service/runtime';
import type { Store } from '@agent-service/store';

const maxRecorded = 20_000;
const maxWritten = 1_000;

/** Hashes of credentials under a KEY_HASH_SECRET that is being replaced. They are written again when the credential is used. */
export interface FormerHashes {
  record(former: string, present: string): void;
  /** Writes some of the recorded ones; resolves to how many. */
  flush(): Promise<number>;
}

export function createFormerHashes({ logger }: ProcessContext, store: Store): FormerHashes {
  const recorded = new Map<string, string>();
  return {
    record(former, present) {
      if (recorded.size < maxRecorded) recorded.set(former, present);
    },
    async flush() {
      const hashes = [...recorded.entries().take(maxWritten)];
      if (hashes.length === 0) return 0;
      await store.sql(replaceHashes, [hashes.map(([former]) => former), hashes.map(([, present]) => present)]);
      for (const [former] of hashes) recorded.delete(former);
      logger.info({ event: 'former_hashes_replaced', count: hashes.length });
      return hashes.length;
    },
  };
}

// A row that another replica replaces at the same time is left to it.
const replaceHashes = `
  with changed as (select former, present from unnest($1::text[], $2::text[]) as given (former, present)),
  keys as (select id, present from api_keys join changed on hash = former for update of api_keys skip locked),
  applications as (select id, present from oauth_clients join changed on secret_hash = former for update of oauth_clients skip locked),
  replaced as (update api_keys set hash = present from keys where api_keys.id = keys.id)
  update oauth_clients set secret_hash = present from applications where oauth_clients.id = applications.id`;
