import type { ProcessContext } from '@agent-service/runtime';
import type { Store } from '@agent-service/store';

const maxRecorded = 20_000;
const maxWritten = 1_000;

interface FormerHash {
  readonly credentialId: string;
  readonly former: string;
  readonly present: string;
}

/** Hashes of credentials under a KEY_HASH_SECRET that is being replaced. They are written again when the credential is used. */
export interface FormerHashes {
  /** Ignores a hash that is under the present secret already. */
  record(hash: FormerHash): void;
  /** Writes some of the recorded ones; resolves to how many. */
  flush(): Promise<number>;
}

export function createFormerHashes({ logger }: ProcessContext, store: Store): FormerHashes {
  const recorded = new Map<string, FormerHash>();
  return {
    record(hash) {
      if (hash.former !== hash.present && recorded.size < maxRecorded) recorded.set(hash.former, hash);
    },
    async flush() {
      const hashes = [...recorded.values().take(maxWritten)];
      if (hashes.length === 0) return 0;
      const columns = [
        hashes.map(({ credentialId }) => credentialId),
        hashes.map(({ former }) => former),
        hashes.map(({ present }) => present),
      ];
      await store.sql(replaceHashes, columns);
      for (const { former } of hashes) recorded.delete(former);
      logger.info({ event: 'former_hashes_replaced', count: hashes.length });
      return hashes.length;
    },
  };
}

// Skips a row that another replica replaces at the same time. Finds rows by id, because hashes of client secrets have no index.
export const replaceHashes = `
  with changed as (select credential_id, former, present from unnest($1::text[], $2::text[], $3::text[]) as given (credential_id, former, present)),
  keys as (select id, present from api_keys join changed on id = credential_id and hash = former for update of api_keys skip locked),
  applications as (select id, present from oauth_clients join changed on id = credential_id and secret_hash = former
    for update of oauth_clients skip locked),
  replaced as (update api_keys set hash = present from keys where api_keys.id = keys.id)
  update oauth_clients set secret_hash = present from applications where oauth_clients.id = applications.id`;
